"""Compiles a function with XLA for a GPU that is not here: JAX, its CUDA plugin, and a description of the device."""
import pathlib
import sys

import jax
import jax.numpy as jnp
from jax.sharding import SingleDeviceSharding
from jaxlib import xla_client

DEVICE = """
gpu_device_info {
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: 233472
  shared_memory_per_block_optin: 232448
  threads_per_core_limit: 2048
  core_count: 132
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  memory_bandwidth: 3352320000000
  l2_cache_size: 52428800
  clock_rate_ghz: 1.98
  device_memory_size: 84978434048
  cuda_compute_capability { major: 9 minor: 0 }
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 }
runtime_version { major: 13 }
device_description_str: "a GPU"
"""
plugin = xla_client.load_pjrt_plugin_dynamically("cuda", sys.argv[1])
xla_client.initialize_pjrt_plugin("cuda")
devices = xla_client.make_c_api_device_topology(plugin, "gpu", topology="1x1x1", target_config=DEVICE)
here = SingleDeviceSharding(devices._make_compile_only_devices()[0])
shape = jax.ShapeDtypeStruct((4096,), jnp.float32)
function = jax.jit(lambda x, y: jnp.tanh(x * 2 + y), in_shardings=(here, here))
function.trace(shape, shape).lower(lowering_platforms=("cuda",)).compile()
print("compiled")
