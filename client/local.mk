libscoria_a_SOURCES += \
	client/answer.c client/answer.h \
	client/attachments.c client/attachments.h \
	client/client.c client/client.h \
	client/compute_answer.c client/compute_answer.h \
	client/compute_events.c client/compute_events.h \
	client/compute_snapshots.c client/compute_snapshots.h \
	client/compute_trims.c client/compute_trims.h \
	client/documents.c client/documents.h \
	client/groups.c client/groups.h \
	client/images.c client/images.h \
	client/key_manager.c client/key_manager.h \
	client/limits.c client/limits.h \
	client/messages.c client/messages.h \
	client/pools.c client/pools.h \
	client/replica_pools.c client/replica_pools.h \
	client/servers.c client/servers.h \
	client/snapshots.c client/snapshots.h \
	client/version_range.c client/version_range.h \
	client/volumes.c client/volumes.h \
	client/watch.c client/watch.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/client/test_client \
	tests/unit/client/test_compute_events \
	tests/unit/client/test_images \
	tests/unit/client/test_key_manager \
	tests/unit/client/test_servers \
	tests/unit/client/test_storage \
	tests/unit/client/test_volumes \
	tests/unit/client/test_watch
endif
