/*
 * A client of NBD on a Unix socket, for tests: requests may be sent before others are answered.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum nbd_command { NBD_READ = 0, NBD_WRITE = 1, NBD_FLUSH = 3 };

/* A descriptor, or -1: no server has that export there. */
int nbd_connect(const char *path, const char *export, int64_t *ret_size);
/* The same of a TCP port of this machine. */
int nbd_connect_port(unsigned port, const char *export, int64_t *ret_size);
/* 0, or -1: the connection is gone. */
int nbd_send(int fd, enum nbd_command command, uint64_t handle, int64_t offset, const void *data,
             uint32_t size);
/* The next reply: 0 and its request, a positive errno of the server, -1 the connection is gone. The
 * bytes of a read go to `data`: so nothing else may be on its way then. */
int nbd_answer(int fd, uint64_t *ret_handle, void *data, uint32_t size);
/* One request and its answer. */
int nbd_do(int fd, enum nbd_command command, int64_t offset, void *data, uint32_t size);
