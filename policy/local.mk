libscoria_a_SOURCES += \
	policy/check.c policy/check.private.h \
	policy/check_parse.c policy/check_parse.private.h \
	policy/context.h \
	policy/rule.c policy/rule.h \
	policy/rule_file.c policy/rule_file.private.h \
	policy/rule_set.c policy/rule_set.private.h \
	policy/rules.c policy/rules.private.h \
	policy/settings.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/policy/test_check \
	tests/unit/policy/test_rule \
	tests/unit/policy/test_rule_file
endif
