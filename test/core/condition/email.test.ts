// `email.domain`: a table of tricks, then random texts against a strict grammar.

import { expect, test } from 'bun:test';
import { emailDomain } from '../../../src/core/condition/email.ts';
import { seeded } from '../oracle.ts';

test('the domain of a plain address, in lower case', () => {
  const plain: [string, string][] = [
    ['ops@example.com', 'example.com'],
    ['Ops.Team+a_b@Example.COM', 'example.com'],
    ["o'brien@mail.example.co.uk", 'mail.example.co.uk'],
    ['bounce-12=user=x.org@example.com', 'example.com'],
    ['1@a-b.c4', 'a-b.c4'],
    ['root@localhost', 'localhost'],
    ['a@xn--bcher-kva.example', 'xn--bcher-kva.example'],
    [`a@${'b.'.repeat(125)}cd`, `${'b.'.repeat(125)}cd`],
    [`${'a'.repeat(64)}@${'b'.repeat(63)}.com`, `${'b'.repeat(63)}.com`],
  ];
  for (const [address, domain] of plain) expect([address, emailDomain(address)]).toEqual([address, domain]);
});

test('everything else fails', () => {
  const refused = [
    '',
    '@',
    'example.com',
    'a@',
    '@example.com',
    'a@example.com@evil.com',
    'a@evil.com@example.com',
    'a@@example.com',
    // Display names, lists, comments, quotes and routes.
    'Ops <ops@example.com>',
    '<ops@example.com>',
    '"evil@evil.com" <ops@example.com>',
    'ops@example.com <evil@evil.com>',
    'a@example.com,b@evil.com',
    'b@evil.com,a@example.com',
    'b@evil.com;a@example.com',
    'a@example.com b@evil.com',
    'a(comment)@example.com',
    'a@example.com(evil.com)',
    'a@(comment)example.com',
    '"a"@example.com',
    '"a@evil.com"@example.com',
    '"a b"@example.com',
    'a\\@evil.com@example.com',
    'a\\b@example.com',
    '<@example.com:b@evil.com>',
    '@example.com:b@evil.com',
    'b%evil.com@example.com',
    'evil.com!b@example.com',
    'b%evil.com(@example.com',
    '=?utf-8?q?b=40evil.com=3e?=@example.com',
    '=?x?q?a?=b@example.com',
    'mailto:a@example.com',
    '-oQ@example.com',
    '|program@example.com',
    '/var/mail/x@example.com',
    '$(id)@example.com',
    // Blanks and control characters.
    ' a@example.com',
    'a@example.com ',
    'a @example.com',
    'a@ example.com',
    'a@example.com\n',
    'a@example.com\r\nBcc: b@evil.com',
    'a@example.com\0.evil.com',
    'a\0@example.com',
    'a@exam\tple.com',
    'a@example.com\u00a0',
    'a@example.com\u2028',
    // Dots.
    '.a@example.com',
    'a.@example.com',
    'a..b@example.com',
    'a@example.com.',
    'a@.example.com',
    'a@example..com',
    'a@.',
    // Domains that are no plain host name.
    'a@[127.0.0.1]',
    'a@[IPv6:::1]',
    'a@127.0.0.1',
    'a@2130706433',
    'a@0x7f.1',
    'a@-example.com',
    'a@example-.com',
    'a@exa_mple.com',
    'a@example.com:25',
    'a@example.com/evil.com',
    'a@example.com#evil.com',
    'a@example.com?x',
    'a@*.com',
    'a@%65xample.com',
    `a@${'b'.repeat(64)}.com`,
    `${'a'.repeat(65)}@example.com`,
    `a@${'b.'.repeat(125)}com`,
    // Characters that look like others, become others or are not seen.
    'a@bücher.example',
    'ä@example.com',
    'a@exam\u0440le.com',
    'a@\uff45xample.com',
    'a@example\u3002com',
    'a@\u212Aelvin.com',
    'a@example\u017f.com',
    'a\u212A@example.com',
    'a@exam\u00adple.com',
    'a@exam\u200bple.com',
    '\ufeffa@example.com',
    'a\uff20example.com',
    'a\ufe6bevil.com@example.com',
    'a@example.com\ud800',
  ];
  expect(refused.map(address => [address, emailDomain(address)])).toEqual(
    refused.map(address => [address, null]),
  );
});

test('whatever is answered is the domain of an address by a strict grammar', () => {
  // RFC 5321: Mailbox = Dot-string "@" Domain, without quoted strings and address literals.
  const label = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
  const mailbox = new RegExp(
    `^[\\w!#$%&'*+/=?^\`{|}~-]+(?:\\.[\\w!#$%&'*+/=?^\`{|}~-]+)*@(${label}(?:\\.${label})*)$`,
  );
  const random = seeded(32);
  const pieces = [
    'a',
    'B',
    '1',
    '-',
    '.',
    '@',
    '@',
    'x.com',
    'evil.com',
    '+',
    '_',
    '"',
    ' ',
    '<',
    '>',
    '%',
    '!',
    '(',
    ')',
    ',',
    '\n',
  ];
  const any = () => pieces[random(random(pieces.length) + 1)] as string;
  let answered = 0;
  for (let run = 0; run < 100_000; run++) {
    const address = Array.from({ length: 3 + random(5) }, any).join('');
    const domain = emailDomain(address);
    if (domain === null) continue;
    answered++;
    if (mailbox.exec(address)?.[1]?.toLowerCase() !== domain)
      throw new Error(`${JSON.stringify(address)}: ${domain}`);
  }
  expect(answered).toBeGreaterThan(2_000);
});
