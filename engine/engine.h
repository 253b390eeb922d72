/* engine: a run from the text of a module to its products, with all decisions, measurements, verification and
 * reports. */
#ifndef PTXOPT_ENGINE_H
#define PTXOPT_ENGINE_H

#include "engine/choose/bases.h"
#include "engine/judge/form_cost.h"
#include "engine/input.h"
#include "engine/kernel_estimate.h"
#include "engine/kernel_find.h"
#include "engine/kernel_patterns.h"
#include "engine/launch.h"
#include "engine/judge/machine_cost.h"
#include "engine/output.h"
#include "engine/report/accesses.h"
#include "engine/report/contract_words.h"
#include "engine/report/cost_report.h"
#include "engine/report/json.h"
#include "engine/report/pattern_words.h"
#include "engine/report/refusal_words.h"
#include "engine/report/report.h"
#include "engine/run.h"
#include "engine/run_steps.h"

#endif
