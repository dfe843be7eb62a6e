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

char *heap_text(const char *text) {
    return checked(strdup(text));
}
