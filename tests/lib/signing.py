"""
Signers of images by the commands that OpenStack documents: a key, a certificate, signatures.
"""

import base64
import os
import subprocess

KEYS = {
    "RSA-PSS": ("RSA", "rsa_keygen_bits:1024"),
    "DSA": ("DSA", "dsa_paramgen_bits:1024"),
    "ECC_SECT571K1": ("EC", "ec_paramgen_curve:sect571k1"),
    "ECC_SECT409K1": ("EC", "ec_paramgen_curve:sect409k1"),
    "ECC_SECT571R1": ("EC", "ec_paramgen_curve:sect571r1"),
    "ECC_SECT409R1": ("EC", "ec_paramgen_curve:sect409r1"),
    "ECC_SECP521R1": ("EC", "ec_paramgen_curve:secp521r1"),
    "ECC_SECP384R1": ("EC", "ec_paramgen_curve:secp384r1"),
}


def openssl(*words, data=None):
    return subprocess.run(["openssl", *words], input=data, capture_output=True,
                          check=True).stdout


class Signer:
    def __init__(self, directory, key_type):
        self.key_type = key_type
        self.key = os.path.join(directory, f"{key_type}.key")
        algorithm, option = KEYS[key_type]
        if algorithm == "RSA":
            openssl("genpkey", "-algorithm", algorithm, "-pkeyopt", option, "-out", self.key)
        else:
            openssl("genpkey", "-genparam", "-algorithm", algorithm, "-pkeyopt", option,
                    "-out", f"{self.key}.parameters")
            openssl("genpkey", "-paramfile", f"{self.key}.parameters", "-out", self.key)
        self.pem = openssl("req", "-x509", "-new", "-key", self.key, "-subj", "/CN=signer",
                           "-days", "14")

    @property
    def der(self):
        return openssl("x509", "-outform", "DER", data=self.pem)

    def sign(self, data, bits=256):
        """In base64."""
        options = ("-sigopt", "rsa_padding_mode:pss") if self.key_type == "RSA-PSS" else ()
        return base64.b64encode(openssl("dgst", f"-sha{bits}", "-sign", self.key, *options,
                                        data=data)).decode()

    def properties(self, data, certificate_id, bits=256):
        """Of an image with these bytes."""
        return {"img_signature": self.sign(data, bits),
                "img_signature_hash_method": f"SHA-{bits}",
                "img_signature_key_type": self.key_type,
                "img_signature_certificate_uuid": certificate_id}
