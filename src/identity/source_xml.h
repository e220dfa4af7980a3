/*
 * The answers of STS, which are XML (pure). An answer in JSON is not asked for,
 * because its model does not promise it.
 */
#ifndef DDBLOCKD_IDENTITY_SOURCE_XML_H
#define DDBLOCKD_IDENTITY_SOURCE_XML_H

#include <stddef.h>

#include "common/buffer.h"

/*
 * Append the text of the first element at @path ("Root/Child/Leaf") to @ret,
 * its entities decoded. Nothing is appended on failure.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     The document is not well-formed as a whole, too deep, has a document
 *     type or instructions in it, or there is no such element, or the element
 *     has others in it.
 * DDBLOCK_E_NOMEM, DDBLOCK_E_LIMIT
 */
int source_xml_read(const char *body, size_t length, const char *path,
    struct buffer *ret);

#endif
