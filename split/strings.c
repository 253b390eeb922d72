/* Tables of strings. ptxas puts more into them than it uses, in an order like that of symbols. So does this: many
 * merged cubins are then the same as those of whole modules, byte for byte. */
#include <string.h>

#include "split/internal.h"

enum { ZONE_LOCAL, ZONE_MODULE, ZONE_GLOBAL, ZONE_PARAMETERS, ZONE_COUNT };

/* *zone is that of the string before it. */
static int zone_of(const char *string, int zone)
{
    if (strcmp(string, ".debug_frame") == 0)
        return ZONE_MODULE;
    if (zone == ZONE_LOCAL || (zone == ZONE_MODULE && *string == '.'))
        return zone;
    return begins(string, ".nv.constant0.") ? ZONE_PARAMETERS : ZONE_GLOBAL;
}

/* A number that no other string has is the key, even if hashes collide. */
static uint64_t key_of(const Strings *strings, const char *string, bool *is_known)
{
    uint64_t key = hash_fnv(string, strlen(string), HASH_START) | 1;
    for (const uint64_t *known; (known = map_get(&strings->known, key)); key = hash_mix(key, 1) | 1) {
        *is_known = strcmp(strings->text.data + *known, string) == 0;
        if (*is_known)
            return key;
    }
    *is_known = false;
    return key;
}

uint32_t strings_add(Strings *strings, const char *string)
{
    bool is_known;
    const uint64_t key = key_of(strings, string, &is_known);
    if (!is_known) {
        map_put(&strings->known, key, strings->text.length);
        buf_write(&strings->text, string, strlen(string) + 1);
    }
    return (uint32_t)*map_get(&strings->known, key);
}

void strings_merge(Merge *merge, const char *name, Strings *strings)
{
    unsigned number = 0;
    *strings = (Strings){.known.arena = merge->arena};
    strings_add(strings, "");
    for (int zone = 0; zone < ZONE_COUNT; zone++) {
        for (size_t i = 0; i < merge->part_count; i++) {
            const PartSection *section = part_section(&merge->parts[i], name);
            const size_t size = section && section->bytes ? section->header.sh_size : 0;
            const char *text = size ? (const char *)section->bytes : "";
            int own = ZONE_LOCAL;
            for (size_t at = 0; at < size && memchr(text + at, 0, size - at); at += strlen(text + at) + 1) {
                const char *string = text + at;
                own = zone_of(string, own);
                if (own == zone && !strstr(string, ANCHOR))
                    strings_add(strings, internal_name(merge->arena, string, &number));
            }
        }
    }
}
