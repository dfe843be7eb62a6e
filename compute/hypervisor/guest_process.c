#include "compute/hypervisor/guest_process.h"

#include "common/cleanup.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#define COMMAND_ROOM 8192 /* the UUID is within it */

/* Returns the length read; 0 when the process is gone or hidden. */
static size_t read_part(const char *pid, const char *name, char *text, size_t size) {
    char path[64];
    autoclose int fd = -1;
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/%.16s/%s", pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    length = fd < 0 ? -1 : read(fd, text, size - 1);
    text[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t)length : 0;
}

static bool is_guest(const char *pid, const char *uuid) {
    static const char option[] = "-uuid"; /* with its terminator */
    char command[COMMAND_ROOM], wanted[sizeof(option) + 40];
    size_t length = read_part(pid, "cmdline", command, sizeof(command));

    memcpy(wanted, option, sizeof(option));
    snprintf(wanted + sizeof(option), 40, "%s", uuid);
    return length > 0 && memmem(command, length, wanted, sizeof(option) + strlen(uuid) + 1);
}

static bool is_stopped(const char *pid) {
    const char *name_end;
    char text[512];

    if (read_part(pid, "stat", text, sizeof(text)) == 0)
        return false;
    name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] && strchr("DTt", name_end[2]);
}

bool guest_process_is_stopped(const char *uuid) {
    autodirectory DIR *folder = opendir("/proc");
    const struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        if (isdigit((unsigned char)entry->d_name[0]) && is_guest(entry->d_name, uuid))
            return is_stopped(entry->d_name);
    }
    return false;
}
