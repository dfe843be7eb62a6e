/*
 * A program of the build: writes a C file with the image of schema.h to its output.  Its argument
 * names the SQLite file that it makes for that, which must not exist.
 */
#include "db/schema.h"
#include "db/sqlite/sqlite.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Zeros between parts cost less than another part up to this number. */
enum { ZEROS_WITHIN = 16 };

static _Noreturn void fail(const char *what, sqlite3 *handle) {
    fprintf(stderr, "image_maker: %s: %s\n", what, handle ? sqlite3_errmsg(handle) : "failed");
    exit(EXIT_FAILURE);
}

static void run(sqlite3 *handle, const char *sql) {
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(sql, handle);
}

static char *made(char *text) {
    if (!text)
        fail("memory", NULL);
    return text;
}

/* As migrate_text() does. */
static void run_text(sqlite3 *handle, const char *sql) {
    static const char mark[] = "@serial@";
    char *text = made(sqlite3_mprintf("%s", sql)), *longer;
    const char *found;

    while ((found = strstr(text, mark))) {
        longer = made(sqlite3_mprintf("%.*s%s%s", (int)(found - text), text, SQLITE_SERIAL_WORDS,
                                      found + strlen(mark)));
        sqlite3_free(text);
        text = longer;
    }
    run(handle, text);
    sqlite3_free(text);
}

static int newest(sqlite3 *handle) {
    sqlite3_stmt *statement;
    int number;

    if (sqlite3_prepare_v2(handle, "SELECT MAX(number) FROM schema_version", -1, &statement,
                           NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        fail("schema_version", handle);
    number = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

/* As migrate_run() does for an empty database. */
static void make_file(const char *path) {
    char insert[80];
    sqlite3 *handle;
    int from;

    if (sqlite3_open(path, &handle) != SQLITE_OK)
        fail(path, handle);
    run(handle, "PRAGMA synchronous = OFF; BEGIN;"
                "CREATE TABLE schema_version (number BIGINT NOT NULL)");
    run_text(handle, schema_baseline);
    from = newest(handle);
    for (unsigned i = 0; i < schema_text_count; i++) {
        if (schema_texts[i].number <= from)
            continue;
        run_text(handle, schema_texts[i].sql);
        snprintf(insert, sizeof(insert), "INSERT INTO schema_version (number) VALUES (%d)",
                 schema_texts[i].number);
        run(handle, insert);
    }
    run(handle, "COMMIT; PRAGMA journal_mode = WAL");
    if (sqlite3_close(handle) != SQLITE_OK)
        fail("close", handle);
}

static unsigned char *read_file(const char *path, size_t *ret_size) {
    FILE *file = fopen(path, "rb");
    unsigned char *bytes;
    long size;

    if (!file || fseek(file, 0, SEEK_END) < 0 || (size = ftell(file)) <= 0)
        fail(path, NULL);
    rewind(file);
    *ret_size = (size_t)size;
    bytes = malloc(*ret_size);
    if (!bytes || fread(bytes, 1, *ret_size, file) != *ret_size)
        fail(path, NULL);
    fclose(file);
    return bytes;
}

/* The next part at or after `at`; its length is 0 at the end of the file. */
static struct schema_part part_find(const unsigned char *bytes, size_t size, size_t at) {
    size_t end, zeros = 0;

    while (at < size && bytes[at] == 0)
        at++;
    for (end = at; end < size && zeros <= ZEROS_WITHIN; end++)
        zeros = bytes[end] ? 0 : zeros + 1;
    return (struct schema_part){ (uint32_t)at, (uint32_t)(end - zeros - at) };
}

static unsigned print_parts(const unsigned char *bytes, size_t size) {
    struct schema_part part = part_find(bytes, size, 0);
    unsigned count = 0;

    printf("const struct schema_part schema_image_parts[] = {\n");
    for (; part.length > 0; count++, part = part_find(bytes, size, part.at + part.length))
        printf("{ %u, %u },\n", part.at, part.length);
    printf("};\n");
    return count;
}

static void print_bytes(const unsigned char *bytes, size_t size) {
    struct schema_part part = part_find(bytes, size, 0);

    printf("const unsigned char schema_image_bytes[] = {");
    for (; part.length > 0; part = part_find(bytes, size, part.at + part.length)) {
        for (size_t i = 0; i < part.length; i++)
            printf("%s%u,", i % 32 ? "" : "\n", bytes[part.at + i]);
    }
    printf("\n};\n");
}

int main(int argc, char **argv) {
    unsigned char *bytes;
    size_t size;

    if (argc != 2)
        fail("usage: image_maker FILE", NULL);
    make_file(argv[1]);
    bytes = read_file(argv[1], &size);
    printf("#include \"db/schema.h\"\n\n");
    printf("const unsigned schema_image_part_count = %u;\n", print_parts(bytes, size));
    printf("const size_t schema_image_size = %zu;\n", size);
    print_bytes(bytes, size);
    free(bytes);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
