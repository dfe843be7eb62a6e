#include "common/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory) {
    if (!memory) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *heap_new(size_t size) {
    return checked(calloc(1, size));
}

void *heap_grow(void *memory, size_t used, size_t size) {
    char *larger = checked(realloc(memory, size));

    memset(larger + used, 0, size - used);
    return larger;
}

char *heap_text(const char *text) {
    return checked(strdup(text));
}
