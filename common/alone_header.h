/*
 * A header of ours beside the standard calls: it names a key of the metadata of what shall be made,
 * and then that is made only when nothing of its kind and project has the same value of the key.
 * What has no metadata, a group or a snapshot of one, has "name": nothing has the same name and
 * description.  Else the answer is 409.  Another volume service does not know it, and makes one
 * more.
 */
#pragma once

#define ALONE_HEADER "X-Scoria-Alone"
