/*
 * The texts of db/schema/, built into the program by embed.awk, the steps ordered by number; and
 * the SQLite file that they make, built in by image_maker.c.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct schema_text {
    int number;
    const char *name; /* 0001_volumes */
    const char *sql;
};

extern const struct schema_text schema_texts[];
extern const unsigned schema_text_count;

/* The schema of an empty database: that of the steps up to some number at once, with their rows in
 * schema_version. */
extern const char schema_baseline[];

/* The file has zeros but for these parts; their bytes follow each other. */
struct schema_part {
    uint32_t at, length;
};

extern const struct schema_part schema_image_parts[];
extern const unsigned schema_image_part_count; /* 0: there is no image, as it was cross compiled */
extern const unsigned char schema_image_bytes[];
extern const size_t schema_image_size; /* of the file */
