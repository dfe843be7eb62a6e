#include "drivers/file/shares.h"

#include "common/cleanup.h"
#include "common/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LONGEST_ADDRESS 255
#define LARGEST_FILE    (1 << 20)

static size_t host_length(const char *text) {
    static const char digits[] = "0123456789abcdefABCDEF:.";
    static const char letters[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-";

    if (text[0] == '[') {
        size_t length = strspn(text + 1, digits);

        if (text[1 + length] == '%') /* zone of a link-local address */
            length += 1 + strspn(text + 2 + length, letters);
        return length > 1 && text[1 + length] == ']' ? length + 2 : 0;
    }
    /* Not '-': the address must never be taken for an option of mount. */
    return text[0] == '-' ? 0 : strspn(text, letters);
}

static bool climbs(const char *path) {
    for (const char *part = path; *part;) {
        size_t length = strcspn(part, "/");

        if ((length == 2 && memcmp(part, "..", 2) == 0) || (length == 1 && *part == '.'))
            return true;
        part += length + (part[length] == '/');
    }
    return false;
}

int share_check_address(const char *address, struct error *err) {
    size_t host = host_length(address);

    if (strlen(address) > LONGEST_ADDRESS)
        return error_set(err, ERROR_BAD_REQUEST, "a share is longer than %d bytes",
                         LONGEST_ADDRESS);
    for (const char *byte = address; *byte; byte++) {
        if ((unsigned char)*byte < ' ' || *byte == 0x7f)
            return error_set(err, ERROR_BAD_REQUEST, "a share has a control character");
    }
    if (!utf8_valid(address, strlen(address)))
        return error_set(err, ERROR_BAD_REQUEST, "a share is not UTF-8");
    if (host == 0 || address[host] != ':')
        return error_set(err, ERROR_BAD_REQUEST, "\"%s\" is not address:/path", address);
    if (address[host + 1] != '/')
        return error_set(err, ERROR_BAD_REQUEST, "the path of \"%s\" is not absolute", address);
    if (climbs(address + host + 1))
        return error_set(err, ERROR_BAD_REQUEST, "the path of \"%s\" has . or .. in it", address);
    return 0;
}

/* A blank in a name is written \040 and a backslash \134, as in fstab. */
static char *decode_address(struct arena *arena, const char *text) {
    char *address = arena_text(arena, text);
    char *to = address;

    while (*text) {
        if (strncmp(text, "\\040", 4) == 0 || strncmp(text, "\\134", 4) == 0) {
            *to++ = text[2] == '4' ? ' ' : '\\';
            text += 4;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
    return address;
}

static bool is_option_text(const char *word) {
    for (const char *byte = word; *byte; byte++) {
        if ((unsigned char)*byte <= ' ' || (unsigned char)*byte >= 0x7f)
            return false;
    }
    return *word && *word != '-';
}

const char *share_parse_options(struct arena *arena, const char *text) {
    char *rest = arena_text(arena, text);
    const char *options = "", *word;
    bool after_o = false;

    while ((word = strsep(&rest, " \t"))) {
        if (*word == '\0')
            continue;
        if (!after_o && strcmp(word, "-o") == 0) {
            after_o = true;
            continue;
        }
        if (!is_option_text(word))
            return NULL;
        options = arena_format(arena, "%s%s%s", options, *options ? "," : "", word);
        after_o = false;
    }
    return after_o ? NULL : options;
}

static int parse_lines(struct arena *arena, char *text, struct share *shares, int *line_number,
                       struct error *err) {
    int count = 0;
    char *line;

    for (*line_number = 1; (line = strsep(&text, "\n")); ++*line_number) {
        size_t length = strlen(line);

        if (length > 0 && line[length - 1] == '\r')
            line[length - 1] = '\0';
        line += strspn(line, " \t");
        if (*line == '\0' || *line == '#')
            continue;
        if (count == SHARES_MOST)
            return error_set(err, ERROR_BAD_REQUEST, "more than %d shares", SHARES_MOST);
        shares[count].address = decode_address(arena, strsep(&line, " \t"));
        if (share_check_address(shares[count].address, err) < 0)
            return -1;
        shares[count].options = share_parse_options(arena, line ? line : "");
        if (!shares[count].options)
            return error_set(err, ERROR_BAD_REQUEST,
                             "after the share only \"-o options\" may stand");
        for (int i = 0; i < count; i++)
            if (strcmp(shares[i].address, shares[count].address) == 0)
                return error_set(err, ERROR_BAD_REQUEST, "%s stands here a second time",
                                 shares[count].address);
        count++;
    }
    return count;
}

int shares_parse(struct arena *arena, const char *text, size_t size, const char *name,
                 struct share **ret, struct error *err) {
    struct share *shares = arena_alloc(arena, SHARES_MOST * sizeof(*shares));
    int line_number = 1, count;

    if (memchr(text, '\0', size))
        return error_set(err, ERROR_BAD_REQUEST, "%s: There is a zero byte in the text.", name);
    count = parse_lines(arena, arena_text_n(arena, text, size), shares, &line_number, err);
    if (count < 0)
        return error_context(err, "%s:%d", name, line_number);
    *ret = shares;
    return count;
}

int shares_read(struct arena *arena, const char *path, struct share **ret, struct error *err) {
    autofile FILE *file = fopen(path, "re");
    char *text = arena_alloc(arena, LARGEST_FILE);
    size_t size = file ? fread(text, 1, LARGEST_FILE, file) : 0;

    if (!file || ferror(file))
        return error_errno(err, ERROR_BAD_REQUEST, "reading the list of shares %s", path);
    if (size == LARGEST_FILE)
        return error_set(err, ERROR_BAD_REQUEST, "%s: The file is too large.", path);
    return shares_parse(arena, text, size, path, ret, err);
}
