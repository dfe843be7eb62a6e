#include "csi/node/settings.private.h"

#include "identity/own_user.h"

#include <limits.h>
#include <unistd.h>

#define SECTION "csi"
#define MOST    1024 /* items of a list option */

struct node *csi_node_new(struct arena *arena, const struct config *config) {
    struct node *node = arena_alloc(arena, sizeof(*node));
    const char **directories = arena_alloc(arena, (MOST + 1) * sizeof(*directories));

    for (size_t i = 0;
         i < MOST && (directories[i] = config_item(config, SECTION, "local_directories", i)); i++)
        ;
    *node = (struct node){
        .root = config_text(config, SECTION, "kubelet_directory"),
        .places = { .share_directory = config_text(config, SECTION, "share_directory"),
                    .local_directories = directories,
                    .target_directory = config_text(config, SECTION, "target_directory") },
    };
    return node;
}

int csi_node_name(const struct config *config, struct arena *arena, const char **ret,
                  struct error *err) {
    const char *id = config_text(config, SECTION, "node_id");
    char name[HOST_NAME_MAX + 1] = "";

    if (!id && gethostname(name, sizeof(name) - 1) < 0)
        return error_errno(err, ERROR_BACKEND, "reading the machine's name");
    *ret = arena_text(arena, id ? id : name);
    return 0;
}

bool csi_node_knows_api(const struct csi_driver *driver) {
    return driver->controller || config_given(driver->config, SECTION, "volume_endpoint") ||
           own_user_is_known(driver->api.user);
}
