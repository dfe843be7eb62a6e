/*
 * The texts of db/schema/, built into the program by embed.awk, the steps ordered by number.
 */
#pragma once

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
