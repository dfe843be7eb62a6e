#include "common/quantity.h"

#include "common/cleanup.h"

#include <string.h>

static const struct {
    const char *suffix;
    int64_t times, parts; /* the factor is times / parts */
} suffixes[] = {
    { "", 1, 1 },
    { "Ki", INT64_C(1) << 10, 1 },
    { "Mi", INT64_C(1) << 20, 1 },
    { "Gi", INT64_C(1) << 30, 1 },
    { "Ti", INT64_C(1) << 40, 1 },
    { "Pi", INT64_C(1) << 50, 1 },
    { "Ei", INT64_C(1) << 60, 1 },
    { "k", 1000, 1 },
    { "M", 1000000, 1 },
    { "G", 1000000000, 1 },
    { "T", INT64_C(1000000000000), 1 },
    { "P", INT64_C(1000000000000000), 1 },
    { "E", INT64_C(1000000000000000000), 1 },
    { "m", 1, 1000 },
    { "u", 1, 1000000 },
    { "n", 1, 1000000000 },
};

#define DIGITS      "0123456789"
#define POWERS_MOST 18

/* "e9", "E-3": a power of ten. */
static bool read_exponent(const char *text, int64_t *ret_times, int64_t *ret_parts) {
    bool divides;
    int power = 0;

    if (*text != 'e' && *text != 'E')
        return false;
    text++;
    divides = *text == '-';
    text += *text == '-' || *text == '+';
    if (*text == '\0' || text[strspn(text, DIGITS)] != '\0')
        return false;
    for (; *text; text++)
        if ((power = 10 * power + (*text - '0')) > POWERS_MOST)
            return false;
    *ret_times = *ret_parts = 1;
    while (power-- > 0)
        *(divides ? ret_parts : ret_times) *= 10;
    return true;
}

static bool read_suffix(const char *text, int64_t *ret_times, int64_t *ret_parts) {
    for (size_t i = 0; i < LENGTH(suffixes); i++)
        if (strcmp(suffixes[i].suffix, text) == 0) {
            *ret_times = suffixes[i].times;
            *ret_parts = suffixes[i].parts;
            return true;
        }
    return read_exponent(text, ret_times, ret_parts);
}

/* The digits before the point. */
static bool read_whole(const char *digits, size_t count, int64_t *ret) {
    *ret = 0;
    for (size_t i = 0; i < count; i++)
        if (__builtin_mul_overflow(*ret, 10, ret) ||
            __builtin_add_overflow(*ret, digits[i] - '0', ret))
            return false;
    return true;
}

/* 0.<digits> x times, rounded down; *rest: there is a remainder. */
static int64_t read_part(const char *digits, size_t count, int64_t times, bool *rest) {
    uint64_t part = 0;

    while (count-- > 0) {
        part += (uint64_t)(digits[count] - '0') * (uint64_t)times;
        *rest = *rest || part % 10 != 0;
        part /= 10;
    }
    return (int64_t)part;
}

bool quantity_read(const char *text, int64_t *ret) {
    const char *start = text + (*text == '+');
    size_t whole = strspn(start, DIGITS);
    bool has_point = start[whole] == '.';
    const char *behind = start + whole + has_point;
    size_t part = has_point ? strspn(behind, DIGITS) : 0;
    int64_t times, parts, value;
    bool rest = false;

    if (whole + part == 0 || !read_suffix(behind + part, &times, &parts) ||
        !read_whole(start, whole, &value) || __builtin_mul_overflow(value, times, &value) ||
        __builtin_add_overflow(value, read_part(behind, part, times, &rest), &value))
        return false;
    rest = rest || value % parts != 0;
    value /= parts;
    return !__builtin_add_overflow(value, rest ? 1 : 0, ret);
}

char *quantity_text(struct arena *arena, int64_t value) {
    static const char *const binary[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
    unsigned power = 0;

    while (value > 0 && value % 1024 == 0 && power + 1 < LENGTH(binary)) {
        value /= 1024;
        power++;
    }
    return arena_format(arena, "%jd%s", (intmax_t)value, binary[power]);
}
