/*
 * The methods of a server by their paths.
 */
#include "grpc/server.private.h"

#include "common/assert.h"
#include "common/words.h"

#include <string.h>

const struct grpc_entry *grpc_methods_find(const struct grpc_server *server, const char *path) {
    for (size_t i = 0; i < server->entry_count; i++)
        if (strcmp(server->entries[i].path, path) == 0)
            return &server->entries[i];
    return NULL;
}

static void add_methods(struct grpc_server *server, const struct grpc_service *service) {
    const ProtobufCServiceDescriptor *descriptor = service->descriptor;

    for (const struct grpc_method *ours = service->methods; ours->name; ours++)
        assert(protobuf_c_service_descriptor_get_method_by_name(service->descriptor, ours->name));
    for (unsigned i = 0; i < descriptor->n_methods; i++) {
        const ProtobufCMethodDescriptor *method = &descriptor->methods[i];
        const struct grpc_method *ours = service->methods;

        while (ours->name && strcmp(ours->name, method->name) != 0)
            ours++;
        server->entries[server->entry_count++] = (struct grpc_entry){
            .path = arena_format(server->arena, "/%s/%s", descriptor->name, method->name),
            .request = method->input,
            .response = method->output,
            .handler = ours->handler,
            .arg = service->arg,
        };
    }
}

void grpc_methods_add(struct grpc_server *server, const struct grpc_server_settings *settings) {
    size_t count = 0;

    for (const struct grpc_service *service = settings->services; service->descriptor; service++)
        count += service->descriptor->n_methods;
    server->entries = arena_alloc(server->arena, count * sizeof(struct grpc_entry));
    for (const struct grpc_service *service = settings->services; service->descriptor; service++)
        add_methods(server, service);
    for (size_t i = 0; i < server->entry_count; i++) {
        struct grpc_entry *entry = &server->entries[i];

        entry->quick = words_list_has(settings->quick, entry->path);
        entry->ahead = words_list_has(settings->ahead, entry->path);
    }
}
