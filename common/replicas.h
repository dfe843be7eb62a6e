/*
 * Number of replicas of one volume: in documents, on nodes and on disks.
 */
#pragma once

#define REPLICAS_MOST 7                   /* that a volume has, and that vote */
#define MEMBERS_MOST  (REPLICAS_MOST + 1) /* that its target has: one more while one is replaced */
