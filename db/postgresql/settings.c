#include "db/postgresql/settings.h"

#include "common/cleanup.h"
#include "common/heap.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *keyword, *value;
} own_parameters[] = {
    { "client_encoding", "UTF8" }, { "fallback_application_name", "scoria" },
    { "keepalives_idle", "10" },   { "keepalives_interval", "5" },
    { "keepalives_count", "3" },   { "tcp_user_timeout", "20000" },
};

/* A password with "/", "@" or "#" that is not percent-encoded ends up in other parts of the URL. */
static bool option_leaks(const PQconninfoOption *option) {
    const char *value = option->val;

    if (strcmp(option->keyword, "port") == 0)
        return value[strspn(value, "0123456789,")] != '\0';
    return (strcmp(option->keyword, "dbname") == 0 || strcmp(option->keyword, "host") == 0 ||
            strcmp(option->keyword, "user") == 0) &&
           strpbrk(value, "@#?") != NULL;
}

static const char *option_value(const PQconninfoOption *options, const char *keyword) {
    for (; options->keyword; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val && *options->val ? options->val : NULL;
    return NULL;
}

static char *where_text(const PQconninfoOption *options) {
    const char *host = option_value(options, "host"), *port = option_value(options, "port");
    const char *name = option_value(options, "dbname");
    char *text;

    if (asprintf(&text, "postgresql://%s%s%s/%s", host ? host : "", port ? ":" : "",
                 port ? port : "", name ? name : "") < 0)
        abort();
    return text;
}

static void settings_add(struct session_settings *settings, size_t index, const char *keyword,
                         const char *value) {
    settings->keywords[index] = heap_text(keyword);
    settings->values[index] = heap_text(value);
}

static int settings_fill(const PQconninfoOption *options, struct session_settings *settings) {
    size_t count = 0;

    for (const PQconninfoOption *option = options; option->keyword; option++)
        count++;
    settings->keywords = heap_new((count + LENGTH(own_parameters) + 1) * sizeof(char *));
    settings->values = heap_new((count + LENGTH(own_parameters) + 1) * sizeof(char *));
    settings->where = where_text(options);
    count = 0;
    for (const PQconninfoOption *option = options; option->keyword; option++) {
        if (!option->val || !*option->val)
            continue;
        if (option_leaks(option))
            return -1;
        settings_add(settings, count++, option->keyword, option->val);
    }
    for (size_t i = 0; i < LENGTH(own_parameters); i++)
        if (!option_value(options, own_parameters[i].keyword))
            settings_add(settings, count++, own_parameters[i].keyword, own_parameters[i].value);
    return 0;
}

int session_settings_read(const char *url, struct session_settings *ret, struct error *err) {
    autofree char *plain = NULL;
    PQconninfoOption *options;
    int result = -1;

    *ret = (struct session_settings){ .where = NULL };
    if (asprintf(&plain, "postgresql%s", strstr(url, "://")) < 0)
        abort();
    options = PQconninfoParse(plain, NULL);
    if (options)
        result = settings_fill(options, ret);
    PQconninfoFree(options);
    if (result == 0)
        return 0;
    session_settings_free(ret);
    return error_set(
        err, ERROR_BAD_REQUEST,
        "database: the URL is not understood; it is postgresql://USER:PASSWORD@HOST:"
        "PORT/NAME?PARAMETER=VALUE with libpq's parameters, and any of / @ # ? %% in a "
        "part must be written %%XX");
}

void session_settings_free(struct session_settings *settings) {
    for (char **text = settings->keywords; text && *text; text++)
        free(*text);
    for (char **text = settings->values; text && *text; text++)
        free(*text);
    free(settings->keywords);
    free(settings->values);
    free(settings->where);
    *settings = (struct session_settings){ .where = NULL };
}
