// Variables in every state space: static and dynamic shared memory, constants and globals with initialisers.

struct Node {
    int key;
    float weights[3];
    const Node *next;
    const char *label;
};

__constant__ float coefficients[5] = {1.0f, -2.5f, 3.25e-10f, 1e30f, 0.0f};
__constant__ double precise = 3.14159265358979323846;
__constant__ unsigned char bytes[7] = {1, 2, 3, 255, 254, 0, 128};
__constant__ short matrix[2][3] = {{1, 2, 3}, {-1, -2, -3}};
__constant__ char text[] = "constant text\n\t\"x\"\0tail";
__device__ long long big[3] = {0x7fffffffffffffffll, -1, 1ll << 40};
__device__ Node tail = {2, {0.5f, 1.5f, 2.5f}, nullptr, "tail"};
__device__ Node head = {1, {-0.5f, -1.5f, -2.5f}, &tail, "head"};
__device__ int *middle = (int *)&big[1];
__device__ float uninitialised[16];
__device__ const int table[8] = {0, 1, 1, 2, 3, 5, 8, 13};
__managed__ int shared_with_host = 42;
static __device__ int counter = 7;
__device__ bool flags[3] = {true, false, true};
__device__ __align__(32) float4 aligned = {1.0f, 2.0f, 3.0f, 4.0f};

extern __shared__ float dynamic[];

extern "C" __global__ void statics(float *out, int n)
{
    __shared__ float fixed[64];
    __shared__ double wide[32];
    __shared__ Node nodes[4];
    __shared__ int flag;

    int i = threadIdx.x;
    if (i == 0)
        flag = n;
    fixed[i % 64] = coefficients[i % 5];
    wide[i % 32] = precise * i;
    if (i < 4) {
        nodes[i].key = i;
        nodes[i].next = &nodes[(i + 1) % 4];
        nodes[i].weights[0] = text[i];
    }
    __syncthreads();
    const Node *node = &nodes[i % 4];
    float sum = fixed[(i + flag) % 64] + (float)wide[(i + 1) % 32] + node->next->weights[0] + node->next->key;
    out[i] = sum + bytes[i % 7] + matrix[i % 2][i % 3] + table[i % 8] + aligned.z + (flags[i % 3] ? 1.0f : 0.0f);
}

extern "C" __global__ void dynamics(float *out, int n)
{
    int *integers = (int *)(dynamic + n);
    char *letters = (char *)(integers + n);

    int i = threadIdx.x;
    dynamic[i] = out[i];
    integers[i] = i * i;
    letters[i] = (char)i;
    __syncthreads();
    out[i] = dynamic[n - 1 - i] + integers[n - 1 - i] + letters[n - 1 - i];
}

extern "C" __global__ void globals(float *out)
{
    const Node *node = &head;
    float sum = 0.0f;
    while (node != nullptr) {
        sum += node->weights[threadIdx.x % 3] * node->key + node->label[0];
        node = node->next;
    }
    atomicAdd(&counter, 1);
    *middle += 1;
    uninitialised[threadIdx.x % 16] = sum;
    out[threadIdx.x] = sum + shared_with_host + (float)big[threadIdx.x % 3];
}

extern "C" __global__ void locals(int *out, const int *in, int n)
{
    int stack[32];
    Node copies[3] = {head, tail, head};
    unsigned char small[9] = {9, 8, 7, 6, 5, 4, 3, 2, 1};

    for (int i = 0; i < n; i++)
        stack[in[i] & 31] = i;
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += stack[(in[i] + 1) & 31] + small[in[i] % 9] + copies[in[i] % 3].key;
    out[threadIdx.x] = sum;
}
