// Whether a text is an IBAN. The check digits have to hold (ISO 7064, MOD 97-10), and of a country that has IBANs, the
// length. What an IBAN of a country is made of is known too, for those who look for IBANs between other texts.

/** As a form: in small letters, without blanks. */
const SHAPE = /^[a-z]{2}[0-9]{2}[a-z0-9]{11,30}$/;

/**
 * What follows the check digits, by the IBAN registry of SWIFT: so many digits (n), letters (a), or of both (c). Other
 * countries may come to have IBANs.
 */
const STRUCTURES: ReadonlyMap<string, string> = new Map(
  `ad 8n12c, ae 19n, al 8n16c, at 16n, az 4a20c, ba 16n, be 12n, bg 4a6n8c, bh 4a14c, bi 23n, br 23n1a1c, by 4c4n16c,
   ch 5n12c, cr 18n, cy 8n16c, cz 20n, de 18n, dj 23n, dk 14n, do 4c20n, ee 16n, eg 25n, es 20n, fi 14n, fk 2a12n, fo 14n,
   fr 10n11c2n, gb 4a14n, ge 2a16n, gi 4a15c, gl 14n, gr 7n16c, gt 24c, hn 4a20n, hr 17n, hu 24n, ie 4a14n, il 19n,
   iq 4a15n, is 22n, it 1a10n12c, jo 4a4n18c, kw 4a22c, kz 3n13c, lb 4n20c, lc 4a24c, li 5n12c, lt 16n, lu 3n13c, lv 4a13c,
   ly 21n, mc 10n11c2n, md 20c, me 18n, mk 3n10c2n, mn 16n, mr 23n, mt 4a5n18c, mu 4a19n3a, ni 4a20n, nl 4a10n, no 11n,
   om 3n16c, pk 4a16c, pl 24n, ps 4a21c, pt 21n, qa 4a21c, ro 4a16c, rs 18n, ru 14n15c, sa 2n18c, sc 4a20n3a, sd 14n, se 20n,
   si 15n, sk 20n, sm 1a10n12c, so 19n, st 21n, sv 4a20n, tl 19n, tn 20n, tr 6n16c, ua 6n19c, va 18n, vg 4a16n, xk 16n,
   ye 4a4n18c`
    .split(',')
    .map(each => each.trim().split(' ') as [string, string]),
);

interface Structure {
  readonly length: number;
  /** Of the whole IBAN as a form. */
  readonly shape: RegExp;
}

const CLASSES: Readonly<Record<string, string>> = { n: '[0-9]', a: '[a-z]', c: '[a-z0-9]' };

const KNOWN: ReadonlyMap<string, Structure> = new Map(
  [...STRUCTURES].map(([country, structure]) => {
    let length = 4;
    const body = structure.replace(/(\d+)([nac])/g, (_, count, kind) => {
      length += Number(count);
      return `${CLASSES[kind]}{${count}}`;
    });
    return [country, { length, shape: new RegExp(`^${country}[0-9]{2}${body}$`) }];
  }),
);

/** How long the IBANs of a country are, which is given in small letters; undefined if it is not known to have any. */
export function ibanLength(country: string): number | undefined {
  return KNOWN.get(country)?.length;
}

/** Whether a text, given as a form, is an IBAN of a country that is known to have them, and is made like one. */
export function isKnownIban(text: string): boolean {
  return KNOWN.get(text.slice(0, 2))?.shape.test(text) === true && hasCheckDigits(text);
}

export function isIban(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const length = ibanLength(text.slice(0, 2));
  if (length !== undefined && length !== text.length) return false;
  return hasCheckDigits(text);
}

function hasCheckDigits(text: string): boolean {
  let rest = 0;
  for (const character of text.slice(4) + text.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value < 10 ? 10 : 100) + value) % 97;
  }
  return rest === 1;
}
