// Whether a text is an IBAN, so that the blanks in it say nothing. Words of a sentence that look like one together are none:
// the check digits have to hold (ISO 7064, MOD 97-10), and of a country that has IBANs, the length.

/** As a form: in small letters, without blanks. */
const SHAPE = /^[a-z]{2}[0-9]{2}[a-z0-9]{11,30}$/;

/** How long the IBANs of a country are, by the IBAN registry of SWIFT. Other countries may come to have them. */
const LENGTHS: Record<string, number> = Object.fromEntries(
  `ad24 ae23 al28 at20 az28 ba20 be16 bg22 bh22 bi27 br29 by28 ch21 cr22 cy28 cz24 de22 dj27 dk18 do28 ee20 eg29 es24 fi18 fk18 fo18
   fr27 gb22 ge22 gi23 gl18 gr27 gt28 hn28 hr21 hu28 ie22 il23 iq23 is26 it27 jo30 kw30 kz20 lb28 lc32 li21 lt20 lu20 lv21 ly25 mc27
   md24 me22 mk19 mn20 mr27 mt31 mu30 ni28 nl18 no15 om23 pk24 pl28 ps29 pt25 qa29 ro24 rs22 ru33 sa24 sc31 sd18 se24 si19 sk24 sm27
   so23 st25 sv28 tl23 tn24 tr26 ua29 va22 vg24 xk20 ye30`
    .split(/\s+/)
    .map(each => [each.slice(0, 2), Number(each.slice(2))]),
);

export function isIban(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const length = LENGTHS[text.slice(0, 2)];
  if (length !== undefined && length !== text.length) return false;
  let rest = 0;
  for (const character of text.slice(4) + text.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value < 10 ? 10 : 100) + value) % 97;
  }
  return rest === 1;
}
