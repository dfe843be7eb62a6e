libscoria_a_SOURCES += \
	common/arena.c common/arena.h \
	common/assert.c common/assert.h \
	common/async_call.c common/async_call.h \
	common/backoff.c common/backoff.h \
	common/base64.c common/base64.h \
	common/child.c common/child.h \
	common/cleanup.h \
	common/clock.c common/clock.h \
	common/detached_call.c common/detached_call.h \
	common/error.c common/error.def common/error.h \
	common/gib.h \
	common/heap.c common/heap.h \
	common/hex.c common/hex.h \
	common/image_holes.c common/image_holes.h \
	common/image_lock.c common/image_lock.h \
	common/io_limits.c common/io_limits.h \
	common/log.c common/log.h \
	common/log_limit.c common/log_limit.h \
	common/loop.c common/loop.h common/loop.private.h \
	common/loop_find.c \
	common/loop_identity.c common/loop_identity.h \
	common/md5.c common/md5.h \
	common/mountinfo.c common/mountinfo.h \
	common/nbd_protocol.h \
	common/nearest.c common/nearest.h \
	common/no_space.c common/no_space.h \
	common/percent.c common/percent.h \
	common/process.c common/process.h \
	common/quantity.c common/quantity.h \
	common/reclaim_phase.h \
	common/replicas.h \
	common/resident.c common/resident.h \
	common/same_file.h \
	common/scoria_headers.h \
	common/state_table.c common/state_table.h \
	common/thread.c common/thread.h \
	common/ticker.c common/ticker.h \
	common/utf8.c common/utf8.h \
	common/version.c common/version.h \
	common/words.h \
	common/worker.c common/worker.h

if HAVE_CHECK
slow_tests += tests/unit/common/test_log
check_PROGRAMS += \
	tests/unit/common/test_arena \
	tests/unit/common/test_assert \
	tests/unit/common/test_backoff \
	tests/unit/common/test_clock \
	tests/unit/common/test_detached_call \
	tests/unit/common/test_error \
	tests/unit/common/test_hex \
	tests/unit/common/test_log_limit \
	tests/unit/common/test_md5 \
	tests/unit/common/test_process \
	tests/unit/common/test_quantity \
	tests/unit/common/test_resident \
	tests/unit/common/test_state_table \
	tests/unit/common/test_thread \
	tests/unit/common/test_ticker \
	tests/unit/common/test_utf8 \
	tests/unit/common/test_worker
endif
