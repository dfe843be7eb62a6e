libscoria_a_SOURCES += \
	policy/check.c policy/check.h \
	policy/context.h \
	policy/identity.h \
	policy/identity_keystone.c \
	policy/identity_none.c \
	policy/rule.c policy/rule.h \
	policy/rule_file.c policy/rule_file.h \
	policy/rule_set.c policy/rule_set.h \
	policy/rules.c policy/rules.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/policy/test_check \
	tests/unit/policy/test_identity_keystone \
	tests/unit/policy/test_identity_none \
	tests/unit/policy/test_rule \
	tests/unit/policy/test_rule_file
endif
