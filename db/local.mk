libscoria_a_SOURCES += \
	db/clock.c db/clock.h \
	db/copy.c db/copy.h \
	db/db.c db/db.h \
	db/engine.h \
	db/migrate.c db/migrate.h \
	db/outbox.c db/outbox.h \
	db/reset.c db/reset.h \
	db/schema.h \
	db/sqlite.c db/sqlite.h \
	db/sqlite_engine.c \
	db/sqlite_log.c db/sqlite_log.h \
	db/sqlite_map.c db/sqlite_map.h \
	db/statement.c db/statement.h \
	db/writer.c db/writer.h

if HAVE_POSTGRESQL
libscoria_a_SOURCES += \
	db/postgresql.h \
	db/postgresql_answer.c db/postgresql_answer.h \
	db/postgresql_clock.c db/postgresql_clock.h \
	db/postgresql_commit.c db/postgresql_commit.h \
	db/postgresql_engine.c \
	db/postgresql_listener.c db/postgresql_listener.h \
	db/postgresql_pool.c db/postgresql_pool.h \
	db/postgresql_prepared.c db/postgresql_prepared.h \
	db/postgresql_session.c db/postgresql_session.h \
	db/postgresql_settings.c db/postgresql_settings.h \
	db/postgresql_transaction.c \
	db/postgresql_writer.c db/postgresql_writer.h
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
	db/schema/0010_clock.sql

nodist_libscoria_a_SOURCES = db/schema.c
BUILT_SOURCES += db/schema.c
CLEANFILES += db/schema.c
EXTRA_DIST += db/embed.awk $(schema_texts)

db/schema.c: $(schema_texts) db/embed.awk
	$(AM_V_GEN)$(MKDIR_P) db && \
	(cd $(srcdir) && LC_ALL=C $(AWK) -f db/embed.awk $(schema_texts)) > $@.tmp && mv $@.tmp $@

EXTRA_DIST += tests/unit/db/scratch.h
if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/db/test_clock \
	tests/unit/db/test_db \
	tests/unit/db/test_migrate \
	tests/unit/db/test_outbox \
	tests/unit/db/test_reset \
	tests/unit/db/test_sqlite \
	tests/unit/db/test_sqlite_log \
	tests/unit/db/test_sqlite_map \
	tests/unit/db/test_statement \
	tests/unit/db/test_writer
endif
if HAVE_CHECK
if HAVE_POSTGRESQL
check_PROGRAMS += tests/unit/db/test_postgresql
endif
endif
