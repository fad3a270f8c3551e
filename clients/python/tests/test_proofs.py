"""Proofs and signatures against vectors: RFC 8032's own, and those that the service's tests keep."""

import copy
import json
import pathlib
import unittest

import toolgate
from toolgate import _ed25519, verify_inclusion

def vectors(name):
    return json.loads((pathlib.Path(__file__).parents[3] / "test/vectors" / name).read_text("utf-8"))


VECTORS = vectors("inclusion-proofs.json")
OLDER = vectors("inclusion-proofs-older.json")
SIGNATURES = vectors("ed25519.json")

#: RFC 8032, section 7.1: public key, message, signature.
RFC_8032 = (
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        "4a7c15e9716ed28dc027beceea1ec40a",
    ),
)
ORDER = 2**252 + 27742317777372353535851937790883648493


class Ed25519Test(unittest.TestCase):
    def test_the_signatures_of_the_rfc_hold(self):
        for key, message, signature in RFC_8032:
            parts = [bytes.fromhex(each) for each in (key, message, signature)]
            self.assertTrue(_ed25519.verify(*parts))

    def test_one_bit_anywhere_and_they_do_not(self):
        key, message, signature = (bytes.fromhex(each) for each in RFC_8032[2])
        for which, part in enumerate((key, message, signature)):
            for bit in range(0, len(part) * 8, 7):
                spoilt = bytearray(part)
                spoilt[bit // 8] ^= 1 << (bit % 8)
                parts = [key, message, signature]
                parts[which] = bytes(spoilt)
                self.assertFalse(_ed25519.verify(*parts), (which, bit))

    def test_a_signature_has_one_spelling(self):
        key, message, signature = (bytes.fromhex(each) for each in RFC_8032[1])
        scalar = int.from_bytes(signature[32:], "little") + ORDER
        self.assertFalse(
            _ed25519.verify(key, message, signature[:32] + scalar.to_bytes(32, "little"))
        )

    def test_keys_and_commitments_of_small_order_are_refused(self):
        self.assertGreater(len(SIGNATURES), 15)
        for case in SIGNATURES:
            parts = [bytes.fromhex(case[name]) for name in ("publicKey", "message", "signature")]
            self.assertEqual(_ed25519.verify(*parts), case["holds"], case["why"])

    def test_what_has_another_length_or_is_no_point_is_refused(self):
        key, message, signature = (bytes.fromhex(each) for each in RFC_8032[1])
        for odd in (b"", key[:31], key + b"\0", b"\xff" * 32, (2).to_bytes(32, "little")):
            self.assertFalse(_ed25519.verify(odd, message, signature))
        for odd in (b"", signature[:63], signature + b"\0", b"\xff" * 64):
            self.assertFalse(_ed25519.verify(key, message, odd))


class ProofTest(unittest.TestCase):
    def test_every_right_proof_is_believed(self):
        self.assertGreater(len(VECTORS["holds"]), 8)
        for proof in VECTORS["holds"]:
            found = verify_inclusion(proof, VECTORS["publicKey"])
            self.assertEqual((found.entry, found.seq), (proof["entry"], proof["seq"]))
            self.assertEqual(found.origin, "toolgate/vectors")
            self.assertRegex(found.signed_at, r"^2030-01-01T")
            text = json.dumps(proof)
            self.assertEqual(verify_inclusion(text, VECTORS["publicKey"]), found)
            self.assertEqual(verify_inclusion(text.encode(), VECTORS["publicKey"] + "\n"), found)

    def test_proofs_under_checkpoints_of_older_versions_are_believed(self):
        self.assertGreater(len(OLDER["holds"]), 1)
        for proof in OLDER["holds"]:
            self.assertEqual(verify_inclusion(proof, OLDER["publicKey"]).entry, proof["entry"])

    def test_every_spoilt_proof_is_refused_for_its_reason(self):
        self.assertGreater(len(VECTORS["refused"]), 15)
        for case in VECTORS["refused"]:
            with self.subTest(case["why"]), self.assertRaises(toolgate.ProofRejected) as raised:
                proof = case["proof"]
                verify_inclusion(proof if isinstance(proof, dict) else json.dumps(proof), case["publicKey"])
            self.assertEqual(raised.exception.code, case["code"])

    def test_what_is_not_json_or_too_deep_is_refused(self):
        proof = VECTORS["holds"][0]
        for odd in ("", "{", b"\xff", "[" * 100000):
            with self.assertRaises(toolgate.ProofRejected):
                verify_inclusion(odd, VECTORS["publicKey"])
        deep = copy.deepcopy(proof)
        nested = deep["entry"]
        for _ in range(100000):
            nested["x"] = {}
            nested = nested["x"]
        with self.assertRaises(toolgate.ProofRejected):
            verify_inclusion(deep, VECTORS["publicKey"])

    def test_a_key_that_is_none_is_the_callers_mistake(self):
        for odd in ("", "x", VECTORS["publicKey"][1:]):
            with self.assertRaises(toolgate.InvalidConfiguration):
                verify_inclusion(VECTORS["holds"][0], odd)
