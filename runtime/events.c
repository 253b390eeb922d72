/* Pairs of events, with which launches are timed. */
#include "runtime/tuning.h"

enum { MOST_EVENTS = 1024 };

typedef struct EventPair {
    unsigned long long context;
    void *events[2];
} EventPair;

static EventPair kept[MOST_EVENTS];
static unsigned kept_count, made_count;
static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;

bool timing_is_possible(const Driver *driver)
{
    return driver->event_create && driver->event_record && driver->event_query && driver->event_elapsed &&
           driver->current_context && driver->stream_is_capturing && driver->exchange_capture_mode;
}

bool timing_find_context(const Driver *driver, unsigned long long *number)
{
    void *context = NULL;
    if (driver->current_context(&context) || !context)
        return false;
    if (!driver->context_id || driver->context_id(context, number))
        *number = (uintptr_t)context;
    return true;
}

bool timing_take(const Driver *driver, Timing *timing)
{
    bool is_found = false;
    pthread_mutex_lock(&events_lock);
    for (unsigned i = kept_count; i-- > 0 && !is_found;)
        if (kept[i].context == timing->context) {
            memcpy(timing->events, kept[i].events, sizeof timing->events);
            kept[i] = kept[--kept_count];
            is_found = true;
        }
    const bool is_new = !is_found && made_count < MOST_EVENTS;
    made_count += is_new;
    pthread_mutex_unlock(&events_lock);
    return is_found || (is_new && driver->event_create(&timing->events[0], 0) == 0 &&
                        driver->event_create(&timing->events[1], 0) == 0);
}

void timing_keep(unsigned long long context, void *const events[2])
{
    pthread_mutex_lock(&events_lock);
    if (kept_count < MOST_EVENTS)
        kept[kept_count++] = (EventPair){context, {events[0], events[1]}};
    pthread_mutex_unlock(&events_lock);
}

void timing_lose(void)
{
    pthread_mutex_lock(&events_lock);
    made_count--;
    pthread_mutex_unlock(&events_lock);
}
