#include "model/volume/image_signature.h"

#include "json/json.h"

#define HASH_METHOD    "img_signature_hash_method"
#define KEY_TYPE       "img_signature_key_type"
#define CERTIFICATE_ID "img_signature_certificate_uuid"
#define TEXT           "img_signature"
#define CERTIFICATE    "certificate"
#define FAILURE        "failure"

/* A member that is no text is as unfit as an empty one, but there. */
static const char *text_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);

    if (!value || json_is_null(value))
        return NULL;
    return json_is_string(value) ? json_string_value(value) : "";
}

static bool is_filled(const char *text) {
    return text && *text;
}

void image_signature_read(const json_t *image, struct image_signature *ret) {
    *ret = (struct image_signature){
        .text = text_of(image, TEXT),
        .hash_method = text_of(image, HASH_METHOD),
        .key_type = text_of(image, KEY_TYPE),
        .certificate_id = text_of(image, CERTIFICATE_ID),
    };
}

bool image_signature_is_given(const struct image_signature *signature) {
    return signature->text || signature->hash_method || signature->key_type ||
           signature->certificate_id;
}

int image_signature_check(const struct image_signature *signature, const char *image_id,
                          struct error *err) {
    bool is_complete = is_filled(signature->text) && is_filled(signature->hash_method) &&
                       is_filled(signature->key_type) && is_filled(signature->certificate_id);

    if (is_complete || !image_signature_is_given(signature))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Image %s is signed, but has not all of the properties " TEXT ", " HASH_METHOD
                     ", " KEY_TYPE " and " CERTIFICATE_ID ".",
                     image_id);
}

/* A text that is missing is left out. */
static void set(json_t *tree, const char *key, const char *text) {
    if (text)
        json_object_set_new(tree, key, json_string(text));
}

json_t *image_signature_print(const struct image_signature *signature) {
    json_t *tree;

    if (!image_signature_is_given(signature))
        return NULL;
    tree = json_object();
    set(tree, TEXT, signature->text);
    set(tree, HASH_METHOD, signature->hash_method);
    set(tree, KEY_TYPE, signature->key_type);
    set(tree, CERTIFICATE_ID, signature->certificate_id);
    set(tree, CERTIFICATE, signature->certificate);
    set(tree, FAILURE, signature->failure);
    return tree;
}

void image_signature_of(const json_t *tree, struct image_signature *ret) {
    image_signature_read(tree, ret);
    ret->certificate = json_text_of(tree, CERTIFICATE);
    ret->failure = json_text_of(tree, FAILURE);
}
