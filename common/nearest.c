#include "common/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define WORD_MOST 63 /* longer words have no suggestion */

static size_t least(size_t a, size_t b, size_t c) {
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* Insertions, deletions and substitutions; case is ignored. */
static size_t edit_distance(const char *a, const char *b) {
    size_t row[WORD_MOST + 1], length = strlen(b);

    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            size_t distance = least(row[j] + 1, row[j - 1] + 1, diagonal + !same);

            diagonal = row[j];
            row[j] = distance;
        }
    }
    return row[length];
}

/* A third of the characters may differ. */
struct nearest nearest_to(const char *wanted) {
    return (struct nearest){ .wanted = wanted, .distance = strlen(wanted) / 3 + 2 };
}

void nearest_try(struct nearest *nearest, const char *word) {
    size_t distance;

    if (strlen(word) > WORD_MOST || strlen(nearest->wanted) > WORD_MOST)
        return;
    distance = edit_distance(nearest->wanted, word);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->word = word;
    }
}
