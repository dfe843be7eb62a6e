#include "replication/engine/file_node.h"

/* locking=on: without locks of the file system the daemon must not start, as two of them could not
 * be distinguished. */
static int add(struct qmp *qmp, const struct file_node *node, const char *aio, int64_t timeout_ms,
               struct error *err) {
    autoarena struct arena *arena = arena_new();
    json_t *file = json_pack("{s:s, s:s, s:s, s:s, s:s}", "driver", "file", "filename", node->path,
                             "discard", "unmap", "locking", "on", "aio", aio);
    json_t *raw = json_pack("{s:s, s:s, s:s, s:o}", "driver", "raw", "node-name", node->name,
                            "discard", "unmap", "file", file);

    if (node->read_only) { /* else unnamed: the daemon reads commands byte by byte, slowly */
        json_object_set_new(file, "read-only", json_true());
        json_object_set_new(raw, "read-only", json_true());
    }
    if (node->size_bytes > 0)
        json_object_set_new(raw, "size", json_integer(node->size_bytes));
    return qmp_execute(qmp, arena, "blockdev-add", raw, timeout_ms, NULL, err);
}

/* A kernel may refuse io_uring, as in containers or by an operator's setting. */
int file_node_add(struct qmp *qmp, const struct file_node *node, int64_t timeout_ms,
                  struct error *err) {
    if (add(qmp, node, "io_uring", timeout_ms, err) == 0)
        return 0;
    return err->kind == ERROR_BACKEND ? add(qmp, node, "threads", timeout_ms, err) : -1;
}
