/* Fits the modifiers of an instruction to a row of the table, and explains what is wrong if none fits. */
#include "ir/table/internal.h"

#include <string.h>

typedef struct Matcher {
    const Form *form;
    const Element *elements;
    const Mod *mods;
    unsigned count;
    int16_t *choice;
    uint32_t used; /* modifiers used up */
    /* the positions of an element's first and last modifiers */
    uint8_t first[MOST_ELEMENTS], last[MOST_ELEMENTS];
} Matcher;

/* The alternatives that an element may choose: all of them, or the one of the element that it repeats. */
static void element_range(const Matcher *matcher, unsigned element, unsigned *from, unsigned *to)
{
    *from = 0;
    *to = matcher->elements[element].alternative_count;
    int twin = matcher->elements[element].same_as;
    if (twin < 0)
        return;
    *from = matcher->choice[twin] < 0 ? *to : (unsigned)matcher->choice[twin];
    *to = matcher->choice[twin] < 0 ? *to : *from + 1;
}

/* Recurses once for each element of the row. */
static bool match_ordered(Matcher *matcher, unsigned element, unsigned at)
{
    if (element == matcher->form->element_count)
        return at == matcher->count;
    unsigned from, to;
    element_range(matcher, element, &from, &to);
    for (unsigned i = from; i < to; i++) {
        const Alternative *alternative = &element_alternatives(&matcher->elements[element])[i];
        const ModId *wanted = alternative_mods(alternative);
        unsigned fits = 0;
        while (fits < alternative->mod_count && at + fits < matcher->count &&
               matcher->mods[at + fits].id == wanted[fits])
            fits++;
        matcher->choice[element] = (int16_t)i;
        if (fits == alternative->mod_count && match_ordered(matcher, element + 1, at + fits))
            return true;
    }
    matcher->choice[element] = -1;
    return matcher->elements[element].kind == ELEMENT_OPTIONAL && match_ordered(matcher, element + 1, at);
}

static bool order_kept(const Matcher *matcher)
{
    const OrderPair *pairs = form_order(matcher->form);
    for (unsigned i = 0; i < matcher->form->order_count; i++) {
        unsigned before = pairs[i].before, after = pairs[i].after;
        if (matcher->choice[before] >= 0 && matcher->choice[after] >= 0 &&
            matcher->last[before] > matcher->first[after])
            return false;
    }
    return true;
}

/* True for a type, and for a format that only matrix instructions have: ".e2m1", ".ue8m0". */
static bool is_format(ModId mod)
{
    const char *name = mod_name(mod) + 1;
    name += *name == 'u';
    return mod_operand_type(mod) || (name[0] == 'e' && name[1] >= '0' && name[1] <= '9');
}

/* Uses up the modifiers of an alternative, wherever they are; types must keep their order. Uses none if it fails. */
static bool take_alternative(Matcher *matcher, unsigned element, const Alternative *alternative)
{
    const ModId *wanted = alternative_mods(alternative);
    uint32_t used = matcher->used;
    unsigned first = matcher->count, last = 0, last_type = 0;
    for (unsigned i = 0; i < alternative->mod_count; i++) {
        unsigned at = 0;
        while (at < matcher->count && (used >> at & 1 || matcher->mods[at].id != wanted[i]))
            at++;
        if (at == matcher->count)
            return false;
        used |= UINT32_C(1) << at;
        if (is_format(wanted[i])) {
            if (at < last_type)
                return false;
            last_type = at;
        }
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    matcher->used = used;
    matcher->first[element] = (uint8_t)first;
    matcher->last[element] = (uint8_t)last;
    return true;
}

static bool match_unordered(Matcher *matcher, unsigned element)
{
    if (element == matcher->form->element_count)
        return (uint64_t)matcher->used + 1 == UINT64_C(1) << matcher->count && order_kept(matcher);
    unsigned from, to;
    uint32_t used = matcher->used;
    element_range(matcher, element, &from, &to);
    for (unsigned i = from; i < to; i++) {
        matcher->choice[element] = (int16_t)i;
        if (take_alternative(matcher, element, &element_alternatives(&matcher->elements[element])[i]) &&
            match_unordered(matcher, element + 1))
            return true;
        matcher->used = used;
    }
    matcher->choice[element] = -1;
    return matcher->elements[element].kind == ELEMENT_OPTIONAL && match_unordered(matcher, element + 1);
}

bool form_match_mods(const Form *form, const Mod *mods, unsigned count, bool ordered, int16_t *choice)
{
    Matcher matcher = {.form = form, .elements = form_elements(form), .mods = mods, .count = count, .choice = choice};
    if (count > MOST_MODS)
        return false;
    if (ordered)
        return match_ordered(&matcher, 0, 0);
    return form->order != ORDER_FIXED && match_unordered(&matcher, 0);
}

enum { MOST_LISTED = 8 };

static void print_alternative(const Alternative *alternative, Buf *out)
{
    for (unsigned i = 0; i < alternative->mod_count; i++)
        buf_puts(out, mod_name(alternative_mods(alternative)[i]));
}

static void print_alternatives(const Element *element, Buf *out)
{
    if (element->alternative_count > 1)
        buf_puts(out, "one of ");
    for (unsigned i = 0; i < element->alternative_count; i++) {
        if (i == MOST_LISTED) {
            buf_puts(out, " ...");
            break;
        }
        buf_puts(out, i ? ", " : "");
        print_alternative(&element_alternatives(element)[i], out);
    }
}

/* known[m]: some form of the opcode has the modifier m. */
static void mods_known(const Form *first, unsigned form_count, bool *known)
{
    for (const Form *form = first; form < first + form_count; form++)
        for (unsigned i = 0; i < form->element_count; i++) {
            const Element *element = &form_elements(form)[i];
            for (unsigned j = 0; j < element->alternative_count; j++) {
                const Alternative *alternative = &element_alternatives(element)[j];
                for (unsigned k = 0; k < alternative->mod_count; k++)
                    known[alternative_mods(alternative)[k]] = true;
            }
        }
}

/* Reports a modifier that no form of the opcode has. */
static bool explain_unknown(const Signature *signature, const Form *first, unsigned form_count, Buf *out)
{
    bool known[MOD_COUNT] = {false};
    unsigned at = 0;
    mods_known(first, form_count, known);
    known[MOD_UNKNOWN] = false;
    while (at < signature->mod_count && known[signature->mods[at].id])
        at++;
    if (at == signature->mod_count)
        return false;
    const Mod *mod = &signature->mods[at];
    if (mod->id != MOD_UNKNOWN) {
        buf_printf(out, "modifier '%s' is not allowed with '%s'", mod->text, signature->opcode);
        return true;
    }
    const char *candidates[MOD_COUNT];
    size_t count = 0;
    for (unsigned id = MOD_UNKNOWN + 1; id < MOD_COUNT; id++)
        if (known[id])
            candidates[count++] = mod_name((ModId)id);
    const char *closest = closest_word(mod->text, candidates, count);
    buf_printf(out, "unknown modifier '%s' for '%s'", mod->text, signature->opcode);
    if (closest)
        buf_printf(out, "; did you mean '%s'?", closest);
    return true;
}

/* A form's modifiers, filled greedily in any order. */
typedef struct Attempt {
    const Form *form;
    Matcher matcher;
    int16_t choice[MOST_ELEMENTS];
    unsigned missing, left;
} Attempt;

static void attempt_form(Attempt *attempt, const Form *form, const Signature *signature)
{
    Matcher *matcher = &attempt->matcher;
    *attempt = (Attempt){.form = form};
    *matcher = (Matcher){
        .form = form, .elements = form_elements(form), .mods = signature->mods, .count = signature->mod_count};
    matcher->choice = attempt->choice;
    for (unsigned i = 0; i < form->element_count; i++) {
        unsigned from, to, longest = 0;
        element_range(matcher, i, &from, &to);
        attempt->choice[i] = -1;
        for (unsigned j = from; j < to; j++) {
            const Alternative *alternative = &element_alternatives(&matcher->elements[i])[j];
            uint32_t used = matcher->used;
            if (alternative->mod_count <= longest || !take_alternative(matcher, i, alternative))
                continue;
            matcher->used = used;
            longest = alternative->mod_count;
            attempt->choice[i] = (int16_t)j;
        }
        if (longest)
            take_alternative(matcher, i, &element_alternatives(&matcher->elements[i])[attempt->choice[i]]);
        attempt->missing += attempt->choice[i] < 0 && matcher->elements[i].kind != ELEMENT_OPTIONAL;
    }
    for (unsigned i = 0; i < signature->mod_count; i++)
        attempt->left += !(matcher->used >> i & 1);
}

/* True if the row's order would change the order of the types; the row is then not the one that was meant. */
static bool types_reordered(const Attempt *attempt, const Signature *signature)
{
    unsigned at = 0;
    for (unsigned i = 0; i < attempt->form->element_count; i++) {
        if (attempt->choice[i] < 0)
            continue;
        const Alternative *alternative = &element_alternatives(&attempt->matcher.elements[i])[attempt->choice[i]];
        for (unsigned j = 0; j < alternative->mod_count; j++) {
            ModId mod = alternative_mods(alternative)[j];
            if (!mod_operand_type(mod))
                continue;
            while (at < signature->mod_count && !mod_operand_type(signature->mods[at].id))
                at++;
            if (at == signature->mod_count || signature->mods[at++].id != mod)
                return true;
        }
    }
    return false;
}

static const Element *first_missing(const Attempt *attempt)
{
    for (unsigned i = 0; i < attempt->form->element_count; i++)
        if (attempt->choice[i] < 0 && attempt->matcher.elements[i].kind != ELEMENT_OPTIONAL)
            return &attempt->matcher.elements[i];
    return NULL;
}

/* The alternative that was chosen in the place of 'mod', or NULL. */
static const Alternative *rival_of(const Attempt *attempt, ModId mod)
{
    for (unsigned i = 0; i < attempt->form->element_count; i++) {
        const Element *element = &attempt->matcher.elements[i];
        if (attempt->choice[i] < 0)
            continue;
        for (unsigned j = 0; j < element->alternative_count; j++)
            for (unsigned k = 0; k < element_alternatives(element)[j].mod_count; k++)
                if (alternative_mods(&element_alternatives(element)[j])[k] == mod && j != (unsigned)attempt->choice[i])
                    return &element_alternatives(element)[attempt->choice[i]];
    }
    return NULL;
}

static void explain_attempt(const Attempt *attempt, const Signature *signature, Buf *out)
{
    Buf spelling = {0};
    signature_print(signature, &spelling);
    const Element *missing = first_missing(attempt);
    unsigned left = 0;
    while (left < signature->mod_count && attempt->matcher.used >> left & 1)
        left++;
    const Mod *extra = left < signature->mod_count ? &signature->mods[left] : NULL;
    bool twice = false;
    for (unsigned i = 0; extra && i < signature->mod_count; i++)
        twice |= i != left && signature->mods[i].text == extra->text;
    if (twice) {
        buf_printf(out, "modifier '%s' is given twice", extra->text);
    } else if (missing && extra) {
        buf_printf(out, "'%s' has '%s' where ", buf_text(&spelling), extra->text);
        print_alternatives(missing, out);
        buf_puts(out, " is needed");
    } else if (missing) {
        buf_printf(out, "'%s' needs ", buf_text(&spelling));
        print_alternatives(missing, out);
    } else if (extra) {
        const Alternative *rival = rival_of(attempt, extra->id);
        if (rival) {
            buf_printf(out, "modifier '%s' cannot be combined with '", extra->text);
            print_alternative(rival, out);
            buf_puts(out, "'");
        } else {
            buf_printf(out, "modifier '%s' is not allowed with '%s'", extra->text, buf_text(&spelling));
        }
    } else {
        buf_printf(out, "the modifiers of '%s' are in the wrong order; write '%s", buf_text(&spelling),
                   signature->opcode);
        for (unsigned i = 0; i < attempt->form->element_count; i++)
            if (attempt->choice[i] >= 0)
                print_alternative(&element_alternatives(&attempt->matcher.elements[i])[attempt->choice[i]], out);
        buf_puts(out, "'");
    }
    buf_free(&spelling);
}

void signature_explain(const Signature *signature, bool legacy, Buf *out)
{
    unsigned form_count;
    const Form *first = opcode_first_form(signature->op, &form_count);
    if (explain_unknown(signature, first, form_count, out))
        return;
    if (signature->mod_count > MOST_MODS) {
        buf_printf(out, "'%s' has too many modifiers", signature->opcode);
        return;
    }
    Attempt best = {0}, attempt;
    unsigned best_score = UINT32_MAX;
    for (unsigned i = 0; i < form_count; i++) {
        if (first[i].last_version && !legacy)
            continue;
        attempt_form(&attempt, &first[i], signature);
        unsigned score = 2 * attempt.missing + 3 * attempt.left;
        if (types_reordered(&attempt, signature))
            score += 4;
        if (score < best_score) {
            best_score = score;
            best = attempt;
            best.matcher.choice = best.choice;
        }
    }
    if (best_score != UINT32_MAX)
        explain_attempt(&best, signature, out);
}
