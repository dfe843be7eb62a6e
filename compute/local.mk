libscoria_a_SOURCES += \
	compute/agent.c compute/agent.h \
	compute/agent_options.c \
	compute/assist.c compute/assist.h \
	compute/assist_job.c compute/assist_job.h compute/assist_job.private.h \
	compute/assist_jobs.c \
	compute/event.c compute/event.h \
	compute/event_authorization.c compute/event_authorization.h \
	compute/hypervisor.h \
	compute/image.c compute/image.h \
	compute/job.c compute/job.h \
	compute/overlay.c compute/overlay.h \
	compute/timed_call.c \
	compute/timed_hypervisor.c compute/timed_hypervisor.h compute/timed_hypervisor.private.h \
	compute/timed_trim.c \
	compute/reply.c compute/reply.h \
	compute/request.c compute/request.h \
	compute/report.c compute/report.h \
	compute/resize.c compute/resize.h \
	compute/round.c compute/round.h \
	compute/limits.c compute/limits.h \
	compute/domain_resumer.c compute/domain_resumer.h \
	compute/guard_cleaner.c compute/guard_cleaner.h \
	compute/snapshot_set.c compute/snapshot_set.h \
	compute/trim.c compute/trim.h \
	compute/trim_job.c compute/trim_job.h \
	compute/versions.c compute/versions.h

if HAVE_LIBVIRT
libscoria_a_SOURCES += \
	compute/blocks.c compute/blocks.h \
	compute/domain_xml.c compute/domain_xml.h \
	compute/resize_guard.c compute/resize_guard.h \
	compute/guest_agent.c compute/guest_agent.h \
	compute/guest_process.c compute/guest_process.h \
	compute/iotune.c compute/iotune.h \
	compute/libvirt.c compute/libvirt.private.h \
	compute/libvirt_find.c \
	compute/libvirt_guests.c \
	compute/monitor.c compute/monitor.h \
	compute/nbd_probe.c compute/nbd_probe.h \
	compute/network_disk.c compute/network_disk.h \
	compute/virt.c compute/virt.h \
	compute/virt_library.c compute/virt_library.h \
	compute/virt_link.c compute/virt_link.h
endif

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/compute/test_agent \
	tests/unit/compute/test_assist \
	tests/unit/compute/test_assist_job \
	tests/unit/compute/test_assist_others \
	tests/unit/compute/test_event \
	tests/unit/compute/test_event_authorization \
	tests/unit/compute/test_image \
	tests/unit/compute/test_job \
	tests/unit/compute/test_report \
	tests/unit/compute/test_resize \
	tests/unit/compute/test_round \
	tests/unit/compute/test_limits \
	tests/unit/compute/test_domain_resumer \
	tests/unit/compute/test_guard_cleaner \
	tests/unit/compute/test_snapshot_set \
	tests/unit/compute/test_trim \
	tests/unit/compute/test_trim_job \
	tests/unit/compute/test_versions
tests_unit_compute_test_agent_SOURCES = tests/unit/compute/agent_scene.h \
	tests/unit/compute/test_agent.c
if HAVE_LIBVIRT
slow_tests += \
	tests/contract/test_libvirt \
	tests/contract/test_libvirt_blocks \
	tests/contract/test_libvirt_late \
	tests/contract/test_libvirt_timeouts
guests = tests/contract/guests.c tests/contract/guests.h
tests_contract_test_libvirt_SOURCES = tests/contract/test_libvirt.c $(guests)
tests_contract_test_libvirt_blocks_SOURCES = tests/contract/test_libvirt_blocks.c $(guests)
tests_contract_test_libvirt_late_SOURCES = tests/contract/test_libvirt_late.c $(guests)
tests_contract_test_libvirt_timeouts_SOURCES = tests/contract/test_libvirt_timeouts.c $(guests)
check_PROGRAMS += \
	tests/unit/compute/test_domain_xml \
	tests/unit/compute/test_libvirt \
	tests/unit/compute/test_nbd_probe \
	tests/unit/compute/test_timed_hypervisor
endif
endif
