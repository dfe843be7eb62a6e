/*
 * libvirt, loaded when a hypervisor is first used: it depends on two dozen libraries, and every
 * other role starts without them.  One is libxml2, for the XML of domains.
 *
 * The functions are called by their own names: virt.virDomainFree(), virt.xmlFreeDoc().  The list
 * below contains every function in use.
 */
#pragma once

#include "common/error.h"

#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <libxml/parser.h>
#include <libxml/tree.h>

/* clang-format off */
#define VIRT_FUNCTIONS(ONE)                                                                      \
    ONE(virConnectClose) ONE(virConnectGetLibVersion) ONE(virConnectIsAlive)                     \
    ONE(virConnectListAllDomains) ONE(virConnectOpen) ONE(virConnectRef)                         \
    ONE(virConnectSetKeepAlive) ONE(virDomainAgentSetResponseTimeout) ONE(virDomainBlockCommit)  \
    ONE(virDomainBlockRebase) ONE(virDomainBlockResize) ONE(virDomainFSInfoFree)                 \
    ONE(virDomainFSTrim) ONE(virDomainFree) ONE(virDomainGetBlockInfo)                           \
    ONE(virDomainGetBlockJobInfo) ONE(virDomainGetControlInfo) ONE(virDomainGetDiskErrors)       \
    ONE(virDomainGetFSInfo)                                                                      \
    ONE(virDomainGetMessages) ONE(virDomainGetState) ONE(virDomainGetUUIDString)                 \
    ONE(virDomainGetXMLDesc) ONE(virDomainIsActive) ONE(virDomainIsPersistent)                   \
    ONE(virDomainLookupByUUIDString) ONE(virDomainQemuMonitorCommand)                            \
    ONE(virDomainResume) ONE(virDomainSetBlockIoTune) ONE(virDomainSnapshotCreateXML)            \
    ONE(virDomainSnapshotFree) ONE(virDomainUpdateDeviceFlags)                                   \
    ONE(virEventRegisterDefaultImpl) ONE(virEventRunDefaultImpl) ONE(virFreeError)               \
    ONE(virGetLastErrorCode) ONE(virInitialize) ONE(virSaveLastError) ONE(virSetErrorFunc)       \
    ONE(xmlBufferContent) ONE(xmlBufferCreate) ONE(xmlBufferFree) ONE(xmlDocDumpMemory)          \
    ONE(xmlDocGetRootElement) ONE(xmlDocSetRootElement) ONE(xmlFree) ONE(xmlFreeDoc)             \
    ONE(xmlFreeNode) ONE(xmlGetProp) ONE(xmlNewChild) ONE(xmlNewDoc) ONE(xmlNewNode)             \
    ONE(xmlNewProp) ONE(xmlNodeDump) ONE(xmlNodeGetContent) ONE(xmlReadMemory)                   \
    ONE(xmlUnlinkNode)
/* clang-format on */

struct virt_library {
#define VIRT_ROW(name) __typeof__(name) *name; /* xmlFree is a variable: (*virt.xmlFree)(text) */
    VIRT_FUNCTIONS(VIRT_ROW)
#undef VIRT_ROW
};

extern struct virt_library virt;

/* To be called before any of them.  Thread-safe; a loaded library stays. */
int virt_library_load(struct error *err);
