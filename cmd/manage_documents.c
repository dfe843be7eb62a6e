/*
 * Documents of declared volumes, through the API: applied from files, shown, deleted.
 */
#include "cmd/manage.h"

#include "cmd/document_print.h"
#include "cmd/manage_talk.h"
#include "cmd/usage.h"
#include "common/cleanup.h"
#include "json/json.h"
#include "json/yaml.h"

#include <stdio.h>
#include <string.h>

#define FILE_MOST  ((size_t)1024 * 1024)
#define RACES_MOST 3 /* concurrent changes of the same document */

/* Documents created by the service only. */
static int refuse_ours(struct manage_talk *talk, const struct document_kind *kind) {
    return error_set(&talk->err, ERROR_BAD_REQUEST,
                     "%s: the service makes and removes them by itself", kind->collection);
}

/* ---- apply ---- */

/* A whole file, or the standard input; NULL: see err. */
static const char *read_file(struct manage_talk *talk, size_t *ret_size) {
    bool here = strcmp(talk->file, "-") == 0;
    autofile FILE *file = here ? NULL : fopen(talk->file, "re");
    FILE *input = here ? stdin : file;
    char *text = arena_alloc(talk->arena, FILE_MOST + 1);

    if (input)
        *ret_size = fread(text, 1, FILE_MOST + 1, input);
    if (input && !ferror(input))
        return text;
    error_set(&talk->err, ERROR_BAD_REQUEST, "%m");
    return NULL;
}

static int apply_one(struct manage_talk *talk, const json_t *document) {
    const char *kind_name = json_text_of(document, "kind");
    const char *name = json_text_at(document, "metadata.name");
    const struct document_kind *kind = manage_kind(talk, kind_name);
    const json_t *before, *after = NULL;
    struct remote_documents place;

    if (!kind || kind->read_only)
        return kind ? refuse_ours(talk, kind) : -1;
    if (!name)
        return error_set(&talk->err, ERROR_BAD_REQUEST, "%s: metadata.name is missing.", kind_name);
    place = manage_place(talk, kind);
    for (int i = 0; !after && i < RACES_MOST; i++) {
        before = document_fetch(&talk->api, talk->arena, &place, name, &talk->err);
        if (before)
            after = document_change(&talk->api, talk->arena, &place, name, document, &talk->err);
        else if (talk->err.kind == ERROR_NOT_FOUND)
            after = document_send(&talk->api, talk->arena, &place, document, &talk->err);
        if (!after && talk->err.kind != (before ? ERROR_NOT_FOUND : ERROR_CONFLICT))
            break;
    }
    if (!after)
        return error_context(&talk->err, "%s/%s", kind->name, name);
    document_print_change(talk->arena, before, after, talk->dry_run);
    return 0;
}

static int apply(struct manage_talk *talk) {
    const json_t *documents = NULL;
    const char *text;
    size_t size = 0;

    if (!talk->file)
        return error_set(&talk->err, ERROR_BAD_REQUEST, "no file given: -f FILE");
    text = read_file(talk, &size);
    if (text)
        documents = yaml_read(talk->arena, text, size, &talk->err);
    if (!documents)
        return error_context(&talk->err, "%s", talk->file);
    if (json_array_size(documents) == 0)
        return error_set(&talk->err, ERROR_BAD_REQUEST, "%s: there is no document.", talk->file);
    for (size_t i = 0; i < json_array_size(documents); i++)
        if (apply_one(talk, json_array_get(documents, i)) < 0)
            return -1;
    return 0;
}

/* ---- get, describe, delete ---- */

static const json_t *fetch(struct manage_talk *talk, const struct document_kind *kind) {
    const struct remote_documents place = manage_place(talk, kind);
    const json_t *one;
    json_t *list;

    if (!talk->words[1])
        return documents_fetch(&talk->api, talk->arena, &place, &talk->err);
    one = document_fetch(&talk->api, talk->arena, &place, talk->words[1], &talk->err);
    if (!one)
        return NULL;
    list = json_keep(talk->arena, json_array());
    json_array_append(list, (json_t *)(uintptr_t)one);
    return list;
}

static int get(struct manage_talk *talk) {
    const struct document_kind *kind = manage_kind(talk, talk->words[0]);
    const json_t *list;

    if (kind && talk->watches)
        return manage_watch(talk, kind);
    list = kind ? fetch(talk, kind) : NULL;
    if (!list)
        return -1;
    if (talk->json)
        manage_print_json(json_deep_copy(talk->words[1] ? json_array_get(list, 0) : list));
    else if (kind == &manage_pools)
        document_print_pools(list);
    else
        document_print_table(list);
    return 0;
}

static const char *uid_of(const json_t *document) {
    return json_text_at(document, "metadata.uid");
}

/* Its events. */
static int describe_events(struct manage_talk *talk, const struct document_kind *kind,
                           const json_t *document) {
    const struct remote_documents place = manage_place(talk, kind);
    const json_t *events = document_fetch_below(&talk->api, talk->arena, &place, uid_of(document),
                                                "events", "events", &talk->err);

    if (!events)
        return -1;
    if (json_array_size(events) > 0)
        document_print_events(events);
    return 0;
}

/* A config with its volume, snapshots and events. */
static int describe_config(struct manage_talk *talk, const json_t *config) {
    const struct remote_documents place = manage_place(talk, &kind_volume_config);
    const json_t *replicas =
        document_fetch_below(&talk->api, talk->arena, &place, uid_of(config), "replicas",
                             kind_volume_replica.collection, &talk->err);

    if (!replicas)
        return -1;
    if (json_array_size(replicas) > 0) {
        puts("replicas:");
        document_print_table(replicas);
    }
    return describe_events(talk, &kind_volume_config, config);
}

static int describe(struct manage_talk *talk) {
    const struct document_kind *kind = manage_kind(talk, talk->words[0]);
    const json_t *list = kind ? fetch(talk, kind) : NULL;

    if (!list)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *document = json_array_get(list, i);

        document_print_whole(talk->arena, document);
        if (kind == &kind_volume_config && describe_config(talk, document) < 0)
            return -1;
        if (kind == &kind_replicated_volume && describe_events(talk, kind, document) < 0)
            return -1;
        putchar('\n');
    }
    return 0;
}

static int delete_one(struct manage_talk *talk) {
    const struct document_kind *kind = manage_kind(talk, talk->words[0]);
    struct remote_documents place;

    if (!kind || (kind->read_only && kind != &manage_pools))
        return kind ? refuse_ours(talk, kind) : -1;
    if (!talk->words[1])
        return error_set(&talk->err, ERROR_BAD_REQUEST, "no name given");
    place = manage_place(talk, kind);
    if (document_drop(&talk->api, talk->arena, &place, talk->words[1], &talk->err) < 0)
        return -1;
    printf("%s/%s %s\n", kind->name, talk->words[1],
           talk->dry_run ? "would be deleted" : "deleted");
    return 0;
}

/* ---- salvage ---- */

/* The request is for the current loss: a late one does not apply to a later loss. */
static int salvage(struct manage_talk *talk) {
    const struct remote_documents replicas = manage_place(talk, &kind_volume_replica),
                                  volumes = manage_place(talk, &kind_replicated_volume);
    const json_t *replica = NULL, *volume = NULL;
    json_t *body;

    if (!talk->words[0] || talk->words[1])
        return error_set(&talk->err, ERROR_BAD_REQUEST, "no replica given: its name");
    replica = document_fetch(&talk->api, talk->arena, &replicas, talk->words[0], &talk->err);
    if (replica)
        volume = document_fetch(&talk->api, talk->arena, &volumes,
                                json_text_at(replica, "spec.volumeId"), &talk->err);
    if (!volume)
        return -1;
    body = json_pack("{s:{s:O, s:s*}}", "salvage", "resourceVersion",
                     json_at(volume, "metadata.resourceVersion"), "stopped", talk->stopped);
    if (!document_act(&talk->api, talk->arena, &replicas, talk->words[0], "salvage",
                      json_keep(talk->arena, body), kind_replicated_volume.word, &talk->err))
        return -1;
    printf("forced recovery from %s/%s is requested; see the events of its config\n",
           kind_volume_replica.name, talk->words[0]);
    return 0;
}

/* ---- subcommands ---- */

int manage_apply(const struct config *config, const char *const *words, bool json) {
    return manage_talk(config, words, json, "apply", apply);
}

int manage_get(const struct config *config, const char *const *words, bool json) {
    return manage_talk(config, words, json, "get", get);
}

int manage_describe(const struct config *config, const char *const *words, bool json) {
    return manage_talk(config, words, json, "describe", describe);
}

int manage_salvage(const struct config *config, const char *const *words, bool json) {
    return manage_talk(config, words, json, "salvage", salvage);
}

int manage_delete(const struct config *config, const char *const *words, bool json) {
    return manage_talk(config, words, json, "delete", delete_one);
}
