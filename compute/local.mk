libscoria_a_SOURCES += \
	compute/agent/agent.c compute/agent/agent.h \
	compute/agent/options.c \
	compute/agent/assist.c compute/agent/assist.h \
	compute/jobs/assist_job.c compute/jobs/assist_job.h compute/jobs/assist_job.private.h \
	compute/jobs/assist_jobs.c \
	compute/agent/event.c compute/agent/event.h \
	compute/agent/event_authorization.c compute/agent/event_authorization.h \
	compute/hypervisor/hypervisor.h \
	compute/hypervisor/image.c compute/hypervisor/image.h \
	compute/jobs/job.c compute/jobs/job.h \
	compute/jobs/overlay.c compute/jobs/overlay.h \
	compute/hypervisor/timed_call.c \
	compute/hypervisor/timed_hypervisor.c compute/hypervisor/timed_hypervisor.h compute/hypervisor/timed_hypervisor.private.h \
	compute/hypervisor/timed_trim.c \
	compute/agent/reply.c compute/agent/reply.h \
	compute/agent/request.c compute/agent/request.h \
	compute/agent/report.c compute/agent/report.h \
	compute/jobs/resize.c compute/jobs/resize.h \
	compute/jobs/round.c compute/jobs/round.h \
	compute/jobs/limits.c compute/jobs/limits.h \
	compute/jobs/domain_resumer.c compute/jobs/domain_resumer.h \
	compute/jobs/guard_cleaner.c compute/jobs/guard_cleaner.h \
	compute/jobs/snapshot_set.c compute/jobs/snapshot_set.h \
	compute/agent/trim.c compute/agent/trim.h \
	compute/jobs/trim_job.c compute/jobs/trim_job.h \
	compute/agent/versions.c compute/agent/versions.h

if HAVE_LIBVIRT
libscoria_a_SOURCES += \
	compute/hypervisor/blocks.c compute/hypervisor/blocks.h \
	compute/hypervisor/domain_xml.c compute/hypervisor/domain_xml.h \
	compute/hypervisor/resize_guard.c compute/hypervisor/resize_guard.h \
	compute/hypervisor/guest_agent.c compute/hypervisor/guest_agent.h \
	compute/hypervisor/guest_process.c compute/hypervisor/guest_process.h \
	compute/hypervisor/iotune.c compute/hypervisor/iotune.h \
	compute/hypervisor/libvirt.c compute/hypervisor/libvirt.private.h \
	compute/hypervisor/libvirt_find.c \
	compute/hypervisor/libvirt_guests.c \
	compute/hypervisor/monitor.c compute/hypervisor/monitor.h \
	compute/hypervisor/nbd_probe.c compute/hypervisor/nbd_probe.h \
	compute/hypervisor/network_disk.c compute/hypervisor/network_disk.h \
	compute/hypervisor/virt.c compute/hypervisor/virt.h \
	compute/hypervisor/virt_library.c compute/hypervisor/virt_library.h \
	compute/hypervisor/virt_link.c compute/hypervisor/virt_link.h
endif

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/compute/agent/test_agent \
	tests/unit/compute/agent/test_assist \
	tests/unit/compute/jobs/test_assist_job \
	tests/unit/compute/jobs/test_assist_others \
	tests/unit/compute/agent/test_event \
	tests/unit/compute/agent/test_event_authorization \
	tests/unit/compute/hypervisor/test_image \
	tests/unit/compute/jobs/test_job \
	tests/unit/compute/agent/test_report \
	tests/unit/compute/jobs/test_resize \
	tests/unit/compute/jobs/test_round \
	tests/unit/compute/jobs/test_limits \
	tests/unit/compute/jobs/test_domain_resumer \
	tests/unit/compute/jobs/test_guard_cleaner \
	tests/unit/compute/jobs/test_snapshot_set \
	tests/unit/compute/agent/test_trim \
	tests/unit/compute/jobs/test_trim_job \
	tests/unit/compute/agent/test_versions
tests_unit_compute_agent_test_agent_SOURCES = tests/unit/compute/agent/agent_scene.h \
	tests/unit/compute/agent/test_agent.c
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
	tests/unit/compute/hypervisor/test_domain_xml \
	tests/unit/compute/hypervisor/test_libvirt \
	tests/unit/compute/hypervisor/test_nbd_probe \
	tests/unit/compute/hypervisor/test_timed_hypervisor
endif
endif
