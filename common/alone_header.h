/*
 * Request header of this service beside the standard calls.  It names a metadata key of the object
 * to be created: the request is refused (409) when an object of the same kind and project has the
 * same value of that key.  Group and group snapshot have no metadata; with "name" the pair of name
 * and description must be unique.  Other volume services ignore the header and create a second
 * object.
 */
#pragma once

#define ALONE_HEADER "X-Scoria-Alone"
