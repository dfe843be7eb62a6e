#include "tests/lib/check_main.h"

#include "compute/jobs/guard_cleaner.h"
#include "tests/lib/fake_hypervisor.h"

#include <time.h>

#define ONE   "11111111-1111-4111-8111-111111111111"
#define OTHER "22222222-2222-4222-8222-222222222222"

static void await(struct fake_hypervisor *fake, enum fake_call call, unsigned count) {
    const struct timespec pause = { .tv_nsec = 1000000 };

    while (fake_hypervisor_count(fake, call) < count)
        nanosleep(&pause, NULL);
}

/* Neither a hypervisor that is not there yet nor a guest that does not answer ends it. */
START_TEST(guards_of_every_guest_are_removed) {
    struct fake_hypervisor *fake = fake_hypervisor_new();
    struct cleaner *cleaner;

    fake_hypervisor_add_instance(fake, ONE);
    fake_hypervisor_add_instance(fake, OTHER);
    fake_hypervisor_fail(fake, FAKE_LIST_USED, ERROR_UNAVAILABLE, 2, false);
    fake_hypervisor_fail(fake, FAKE_TIDY, ERROR_UNAVAILABLE, 1, false);
    cleaner = guard_cleaner_new(fake_hypervisor_of(fake), 1);
    await(fake, FAKE_TIDY, 2);
    guard_cleaner_free(cleaner);
    ck_assert_uint_eq(fake_hypervisor_count(fake, FAKE_LIST_USED), 3);
    ck_assert_uint_eq(fake_hypervisor_count(fake, FAKE_TIDY), 2);
    fake_hypervisor_free(fake);
}
END_TEST

CHECK_MAIN("guard_cleaner", guards_of_every_guest_are_removed)
