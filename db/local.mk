libscoria_a_SOURCES += \
	db/clock.c db/clock.h \
	db/copy.c db/copy.h \
	db/db.c db/db.h \
	db/engine.h \
	db/job_queue.c db/job_queue.h \
	db/migrate.c db/migrate.h \
	db/outbox.c db/outbox.h \
	db/reset.c db/reset.h \
	db/schema.h \
	db/sqlite/backup.c db/sqlite/backup.h \
	db/sqlite/connection.c db/sqlite/connection.h \
	db/sqlite/engine.c \
	db/sqlite/image.c db/sqlite/image.h \
	db/sqlite/log.c db/sqlite/log.h \
	db/sqlite/log_flush.c db/sqlite/log_flush.h \
	db/sqlite/map.c db/sqlite/map.h \
	db/sqlite/reserve.c db/sqlite/reserve.h \
	db/sqlite/snapshot.c db/sqlite/snapshot.h \
	db/sqlite/untouched.c db/sqlite/untouched.h \
	db/sqlite/sqlite.c db/sqlite/sqlite.h \
	db/sqlite/statement.c db/sqlite/statement.h \
	db/sqlite/tx.c db/sqlite/tx.h \
	db/sqlite/writer.c db/sqlite/writer.h

if HAVE_POSTGRESQL
libscoria_a_SOURCES += \
	db/postgresql/clock.c db/postgresql/clock.h \
	db/postgresql/commit.c db/postgresql/commit.h \
	db/postgresql/engine.c \
	db/postgresql/hook.c \
	db/postgresql/listener.c db/postgresql/listener.h \
	db/postgresql/session_pool.c db/postgresql/session_pool.h \
	db/postgresql/postgresql.h \
	db/postgresql/prepared.c db/postgresql/prepared.h \
	db/postgresql/query.c db/postgresql/query.h \
	db/postgresql/server.c db/postgresql/server.h \
	db/postgresql/session.c db/postgresql/session.h \
	db/postgresql/settings.c db/postgresql/settings.h \
	db/postgresql/transaction.c db/postgresql/transaction.h \
	db/postgresql/writer.c db/postgresql/writer.h
endif

# In the order of their numbers.
schema_texts = \
	db/schema/0001_volumes.sql \
	db/schema/0002_lists.sql \
	db/schema/0003_default_types.sql \
	db/schema/0004_type_encryption.sql \
	db/schema/0005_log_levels.sql \
	db/schema/0006_outbox_sender.sql \
	db/schema/0007_quota_used.sql \
	db/schema/0008_operations_in_place.sql \
	db/schema/0009_messages_kept.sql \
	db/schema/0010_clock.sql \
	db/schema/0011_operations_in_turn.sql \
	db/schema/0012_snapshots.sql \
	db/schema/0013_groups.sql \
	db/schema/0014_operations_in_turns.sql \
	db/schema/0015_snapshot_pages.sql \
	db/schema/0016_described_pages.sql \
	db/schema/0017_operations_assisted.sql \
	db/schema/0018_snapshots_taken_over.sql \
	db/schema/0019_reclaims.sql \
	db/schema/0020_snapshots_by_zone.sql \
	db/schema/0021_metadata_pages.sql \
	db/schema/0022_zone_and_group_pages.sql \
	db/schema/0023_operations_that_read.sql \
	db/schema/0024_documents.sql \
	db/schema/0025_snapshot_pages.sql \
	db/schema/0026_documents_owned.sql \
	db/schema/0027_document_moves.sql \
	db/schema/0028_group_type_pages.sql \
	db/schema/0031_pool_addresses.sql \
	db/schema/0032_documents_counted.sql \
	db/schema/0035_qos_specs.sql \
	db/schema/0036_attachments_of_hosts.sql \
	db/schema/0037_pool_up_since.sql \
	db/schema/0038_documents_bytes.sql \
	db/schema/0039_turns_of_nothing.sql \
	db/schema/0040_outbox_project.sql \
	db/schema/0041_operations_in_line.sql \
	db/schema/0042_pool_snapshots.sql \
	db/schema/0043_connections.sql \
	db/schema/0044_operations_that_wait.sql \
	db/schema/0045_extends_unreported.sql \
	db/schema/0046_operations_long.sql \
	db/schema/0047_volumes_service.sql \
	db/schema/0048_messages_reason.sql \
	db/schema/0049_pool_drain.sql \
	db/schema/0050_connections_before.sql \
	db/schema/0051_documents_pool.sql \
	db/schema/0052_pool_instance.sql \
	db/schema/0053_pool_drain_bytes.sql \
	db/schema/0054_operations_indexed_less.sql \
	db/schema/0055_transfers.sql

nodist_libscoria_a_SOURCES = db/schema.c
BUILT_SOURCES += db/schema.c
CLEANFILES += db/schema.c
EXTRA_DIST += db/embed.awk $(schema_texts) db/schema/baseline.sql

db/schema.c: $(schema_texts) db/schema/baseline.sql db/embed.awk db/local.mk
	$(AM_V_GEN)$(MKDIR_P) db && \
	(cd $(srcdir) && LC_ALL=C $(AWK) -f db/embed.awk $(schema_texts) db/schema/baseline.sql) > $@.tmp && mv $@.tmp $@

# The SQLite file that these make, by a program of this machine.
nodist_libscoria_a_SOURCES += db/image.c
CLEANFILES += db/image.c
EXTRA_PROGRAMS += db/image_maker
db_image_maker_SOURCES = db/image_maker.c
nodist_db_image_maker_SOURCES = db/schema.c
db_image_maker_LDADD = $(SQLITE_LIBS)

if CROSS_COMPILING
db/image.c: db/local.mk
	$(AM_V_GEN)$(MKDIR_P) db && printf '%s\n' '#include "db/schema.h"' \
		'const struct schema_part schema_image_parts[1];' 'const unsigned schema_image_part_count;' \
		'const unsigned char schema_image_bytes[1];' 'const size_t schema_image_size;' > $@.tmp && mv $@.tmp $@
else
db/image.c: db/image_maker$(EXEEXT)
	$(AM_V_GEN)rm -f $@.file && db/image_maker$(EXEEXT) $@.file > $@.tmp && rm -f $@.file && mv $@.tmp $@
endif

EXTRA_DIST += tests/unit/db/scratch.h
if HAVE_CHECK
slow_tests += tests/unit/db/sqlite/test_log
check_PROGRAMS += \
	tests/unit/db/sqlite/test_image \
	tests/unit/db/sqlite/test_map \
	tests/unit/db/sqlite/test_reserve \
	tests/unit/db/sqlite/test_snapshot \
	tests/unit/db/sqlite/test_sqlite \
	tests/unit/db/sqlite/test_statement \
	tests/unit/db/sqlite/test_writer \
	tests/unit/db/test_clock \
	tests/unit/db/test_db \
	tests/unit/db/test_migrate \
	tests/unit/db/test_outbox \
	tests/unit/db/test_reset
endif
if HAVE_CHECK
if HAVE_POSTGRESQL
slow_tests += tests/unit/db/postgresql/test_lost
check_PROGRAMS += \
	tests/unit/db/postgresql/test_postgresql \
	tests/unit/db/postgresql/test_prepared
endif
endif
