libscoria_a_SOURCES += \
	identity/authtoken.c identity/authtoken.h \
	identity/identity.h \
	identity/identity_keystone.c \
	identity/identity_none.c \
	identity/keystone.c identity/keystone.h \
	identity/keystone_auth.c identity/keystone_auth.private.h \
	identity/keystone_settings.c identity/keystone_settings.h \
	identity/own_user.c identity/own_user.h \
	identity/token.c identity/token.h \
	identity/token_cache.c identity/token_cache.private.h \
	identity/token_check.c identity/token_check.h \
	identity/token_queue.c identity/token_queue.private.h \
	identity/token_waiter.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/identity/test_identity_keystone \
	tests/unit/identity/test_identity_none \
	tests/unit/identity/test_keystone \
	tests/unit/identity/test_own_user \
	tests/unit/identity/test_token \
	tests/unit/identity/test_token_check
endif
