#include "tests/lib/script_keystone.h"

#include "common/clock.h"

#include <stdio.h>
#include <string.h>

const char *script_keystone_time(int64_t seconds) {
    static char ring[8][CLOCK_TEXT_SIZE + 1];
    static unsigned next;
    char *text = ring[next++ % 8];

    clock_text(clock_now_us(&clock_system) + seconds * 1000000, text);
    return strcat(text, "Z");
}

const char *script_keystone_token(const char *roles, int64_t seconds, const char *more) {
    static char ring[4][4096];
    static unsigned next;
    char *text = ring[next++ % 4], names[512] = "";
    const char *end;

    for (const char *role = roles; *role; role = end + strspn(end, ", ")) {
        end = role + 1 + strcspn(role + 1, "\"") + 1;
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s{\"name\": %.*s}",
                 *names ? ", " : "", (int)(end - role), role);
    }
    snprintf(text, sizeof(ring[0]),
             "{\"token\": {\"user\": {\"id\": \"u1\", \"name\": \"joe\", \"domain\": {\"id\": "
             "\"ud\"}}, \"project\": {\"id\": \"0123abcd\", \"domain\": {\"id\": \"pd\"}}, "
             "\"roles\": [%s], \"expires_at\": \"%s\"%s%s}}",
             names, script_keystone_time(seconds), *more ? ", " : "", more);
    return text;
}

void script_keystone_begin(struct script_server *server) {
    const char *url = script_server_url(server);
    char body[2048];

    snprintf(body, sizeof(body),
             "{\"version\": {\"id\": \"v3.14\", \"links\": [{\"rel\": \"self\", \"href\": "
             "\"%s/v3/\"}]}}",
             url);
    script_server_add(server, &(struct script_rule){ .path = "/v3", .status = 200, .body = body });
    snprintf(body, sizeof(body),
             "{\"token\": {\"expires_at\": \"%s\", \"catalog\": [{\"type\": \"compute\", "
             "\"endpoints\": [{\"interface\": \"internal\", \"region\": \"one\", \"url\": "
             "\"http://internal/\"}, {\"interface\": \"public\", \"region_id\": \"one\", \"url\": "
             "\"%s/compute/v2.1/\"}]}, {\"type\": \"volumev3\", \"endpoints\": [{\"interface\": "
             "\"public\", \"region_id\": \"one\", \"url\": \"%s/volume/v3\"}]}]}}",
             script_keystone_time(3600), url, url);
    script_server_add(server, &(struct script_rule){ .method = "POST",
                                                     .path = KEYSTONE_TOKENS,
                                                     .status = 201,
                                                     .body = body,
                                                     .header = "X-Subject-Token: " KEYSTONE_OWN });
}

void script_keystone_answer(struct script_server *server, int status, const char *body,
                            unsigned times) {
    script_server_add(server, &(struct script_rule){ .method = "GET",
                                                     .path = KEYSTONE_TOKENS "*",
                                                     .status = status,
                                                     .body = body,
                                                     .times = times });
}
