#include "compute/hypervisor/virt_library.h"

#include "common/cleanup.h"
#include "common/thread.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define FILE_NAME "libvirt-qemu.so.0" /* which depends on libvirt.so.0, and that on libxml2 */

struct virt_library virt;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `loaded` and virt */
static bool loaded;

static const struct {
    const char *name;
    size_t place;
} functions[] = {
#define VIRT_ROW(name) { #name, offsetof(struct virt_library, name) },
    VIRT_FUNCTIONS(VIRT_ROW)
#undef VIRT_ROW
};

static int load(struct error *err) {
    void *library = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return error_set(err, ERROR_BACKEND, "libvirt cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < LENGTH(functions); i++) {
        void *found = dlsym(library, functions[i].name);

        if (!found)
            return error_set(err, ERROR_BACKEND, "libvirt has no %s", functions[i].name);
        memcpy((char *)&virt + functions[i].place, &found, sizeof(found));
    }
    loaded = true;
    return 0;
}

int virt_library_load(struct error *err) {
    scoped_lock(&lock);
    return loaded ? 0 : load(err);
}
