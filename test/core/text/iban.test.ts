// IBANs of the registry's countries, and texts that are none.

import { expect, test } from 'bun:test';
import { isIban } from '../../../src/core/text/iban.ts';

/** Examples that the registry gives of these countries, and others have in their documents. */
const EXAMPLES =
  `NO93 8601 1117 947, BE68 5390 0754 7034, DK50 0040 0440 1162 43, NL91 ABNA 0417 1643 00, AT61 1904 3002 3457 3201,
  CH93 0076 2011 6238 5295 7, DE89 3704 0044 0532 0130 00, GB29 NWBK 6016 1331 9268 19, SE45 5000 0000 0583 9825 7466,
  PT50 0002 0123 1234 5678 9015 4, IT60 X054 2811 1010 0000 0123 456, FR14 2004 1010 0505 0001 3M02 606,
  PL61 1090 1014 0000 0712 1981 2874, BR18 0036 0305 0000 1000 9795 493C 1, JO94 CBJO 0010 0000 0000 0131 0003 02,
  MT84 MALT 0110 0001 2345 MTLC AST0 01S, LC55 HEMM 0001 0001 0012 0012 0002 3015`
    .split(',')
    .map(each => each.replace(/\s/g, '').toLowerCase());

test.each(EXAMPLES)('%s is one, and none with another character, a longer or a shorter one', iban => {
  expect(isIban(iban)).toBe(true);
  for (let at = 4; at < iban.length; at++) {
    const other = iban[at] === '7' ? '8' : '7';
    expect(isIban(iban.slice(0, at) + other + iban.slice(at + 1))).toBe(false);
  }
  // Of a hundred endings, one has check digits that hold.
  for (let more = 0; more < 100; more++) expect(isIban(iban + String(more).padStart(2, '0'))).toBe(false);
  for (let end = 0; end < iban.length; end++) expect(isIban(iban.slice(0, end))).toBe(false);
});

test('of another country, the check digits decide', () => {
  expect(isIban('xx6734567890123')).toBe(true);
  expect(isIban('xx6834567890123')).toBe(false);
  expect(isIban('xx08345678901234567890123456789012')).toBe(true);
  expect(isIban('constructor')).toBe(false);
});

test.each(['', 'to10peoplefromaccounting', 'at24hoursnotice', '1234567890123456', 'GB29NWBK60161331926819'])(
  '%j is none',
  text => {
    expect(isIban(text)).toBe(false);
  },
);
