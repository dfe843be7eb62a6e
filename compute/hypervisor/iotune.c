#include "compute/hypervisor/iotune.h"

#include <stdio.h>

static void name(virTypedParameter *parameter, const char *field, int type) {
    snprintf(parameter->field, sizeof parameter->field, "%s", field);
    parameter->type = type;
}

int iotune_set(const struct guest *guest, const struct disk *disk, const struct io_limits *limits,
               struct error *err) {
    virTypedParameter parameters[IO_LIMITS + 1] = { 0 };
    char group[sizeof IOTUNE_GROUP + sizeof disk->serial];
    int count = 0;

    for (; count < IO_LIMITS; count++) {
        name(&parameters[count], io_limit_names[count], VIR_TYPED_PARAM_ULLONG);
        parameters[count].value.ul = (unsigned long long)limits->of[count];
    }
    if (io_limits_any(limits)) { /* without limits a disk leaves its group */
        snprintf(group, sizeof group, IOTUNE_GROUP "%s", disk->serial);
        name(&parameters[count], VIR_DOMAIN_BLOCK_IOTUNE_GROUP_NAME, VIR_TYPED_PARAM_STRING);
        parameters[count++].value.s = group;
    }
    if (virt.virDomainSetBlockIoTune(guest->domain, disk->source[0] ? disk->source : disk->target,
                                     parameters, count, VIR_DOMAIN_AFFECT_LIVE) < 0)
        return virt_fail(guest->connection, "limiting the disk", err);
    return 0;
}
