// `url.host`, `url.scheme` and `url.port`: a table of tricks, then random URLs against Python's parser, which is another one
// than ours: whenever we answer, it gives the same.

import { expect, test } from 'bun:test';
import { urlHost, urlPort, urlScheme } from '../../../src/core/condition/url.ts';
import { LONG, need } from '../../support/need.ts';
import { onPath } from '../../support/service.ts';
import { seeded } from '../oracle.ts';

const read = (url: string) => [urlScheme(url), urlHost(url), urlPort(url)];

test('what every parser reads alike is answered', () => {
  const plain: [string, string, string | null, number | null][] = [
    ['https://example.com', 'https', 'example.com', 443],
    ['HTTP://Example.COM:8080/a?b#c', 'http', 'example.com', 8080],
    ['http://example.com:80/', 'http', 'example.com', 80],
    ['wss://example.com/', 'wss', 'example.com', 443],
    ['ws://example.com/', 'ws', 'example.com', 80],
    ['ftp://example.com/', 'ftp', 'example.com', 21],
    ['https://localhost/', 'https', 'localhost', 443],
    ['https://my_host.example/', 'https', 'my_host.example', 443],
    ['https://user@host/', 'https', 'host', 443],
    ['https://user:secret@host:1/', 'https', 'host', 1],
    [`https://${'a.'.repeat(126)}b/`, 'https', `${'a.'.repeat(126)}b`, 443],
    // The host that everybody goes to, not the one that it looks like.
    ['https://good.com@evil.com/', 'https', 'evil.com', 443],
    ['https://good.com:443@evil.com/', 'https', 'evil.com', 443],
    ['https://evil.com/@good.com', 'https', 'evil.com', 443],
    ['https://evil.com/https://good.com/', 'https', 'evil.com', 443],
    ['https://evil.com?good.com', 'https', 'evil.com', 443],
    ['https://evil.com#.good.com', 'https', 'evil.com', 443],
    ['https://good.com.evil.com/', 'https', 'good.com.evil.com', 443],
    ['https://good.com-evil.com/', 'https', 'good.com-evil.com', 443],
    ['https://example.com/%2e%2e/%00?x=%0a#%5c', 'https', 'example.com', 443],
    ['https://example.com/a?mail=a@b.com', 'https', 'example.com', 443],
    ['https://example.com/ä', 'https', 'example.com', 443],
    // Addresses in their usual form.
    ['http://127.0.0.1/', 'http', '127.0.0.1', 80],
    ['http://[::1]:8080/', 'http', '[::1]', 8080],
    ['http://[0:0:0:0:0:0:0:1]/', 'http', '[::1]', 80],
    ['http://[2001:DB8::0:1]/', 'http', '[2001:db8::1]', 80],
    ['http://[::ffff:127.0.0.1]/', 'http', '[::ffff:7f00:1]', 80],
    // Names outside ASCII.
    ['https://bücher.example/', 'https', 'xn--bcher-kva.example', 443],
    ['https://xn--bcher-kva.example/', 'https', 'xn--bcher-kva.example', 443],
    ['https://ex\u0430mple.com/', 'https', 'xn--exmple-4nf.com', 443],
    // Other schemes.
    ['postgres://u:p@DB.example:5432/x', 'postgres', 'db.example', 5432],
    ['ssh://git@example.com/a.git', 'ssh', 'example.com', null],
    ['file://server/share', 'file', 'server', null],
    ['file:///etc/passwd', 'file', null, null],
    ['file:///home/a@b', 'file', null, null],
    ['unix:///var/run/x.sock', 'unix', null, null],
    ['mailto:a@example.com', 'mailto', null, null],
    ['javascript:alert(1)', 'javascript', null, null],
    ['data:text/html,x', 'data', null, null],
    ['blob:https://example.com/1', 'blob', null, null],
  ];
  for (const [url, ...parts] of plain) expect([url, ...read(url)]).toEqual([url, ...parts]);
});

test('what parsers read in different ways fails', () => {
  const refused = [
    '',
    'example.com',
    '//example.com/',
    '/path',
    'https',
    'https:',
    'https://',
    '://example.com',
    '1http://example.com',
    // Slashes that are missing, too many or leaning the other way.
    'http:example.com',
    'http:/example.com',
    'http:///example.com',
    'http:////example.com',
    'https:///',
    'http:\\\\example.com',
    'http://good.com\\@evil.com',
    'http://evil.com\\@good.com',
    'http:/\\example.com',
    'http://evil.com\\.good.com',
    'http://example.com/\\x',
    'file:/etc/passwd',
    'file:etc/passwd',
    'file:////server/share',
    'file://C:/x',
    'file://localhost/x',
    // Blanks and control characters, which the parser drops.
    ' https://example.com',
    'https://example.com ',
    'https://example.com/a b',
    '\thttps://example.com',
    'ht\ntps://example.com',
    'https://exam\tple.com',
    'https://evil.com\n.good.com',
    'https://example.com/\r\nHost:x',
    'java\nscript:alert(1)',
    ' javascript:alert(1)',
    '\x01javascript:alert(1)',
    'https://example.com\0.evil.com',
    'https://example.com/\x7f',
    'https://example.com/\u0085',
    'https://example.com/\u00a0',
    'https://example.com/\u2028',
    '\ufeffhttps://example.com',
    'https://example.com/\ud800',
    // Users that are read as hosts.
    'https://a@b@c/',
    'http://evil.com:80@x@good.com/',
    'http://evil.com%2f@good.com/',
    'http://evil.com&@good.com/',
    'http://evil.com;@good.com/',
    'http\u017f://good.com/',
    'http://evil.com%40good.com/',
    'http://evil.com%5c@good.com/',
    'http://evil.com#@good.com/',
    'http://evil.com?@good.com/',
    'http://127.0.0.1:11211#@good.com:80/',
    'http://[evil.com]@good.com/',
    'http://good.com@[evil.com]/',
    'http://@/',
    'http://user@/',
    'http://user@:80/',
    'http://evil.com &@good.com# @x/',
    // Hosts.
    'https://example.com./',
    'https://.example.com/',
    'https://example..com/',
    'https://./',
    'https://%65xample.com/',
    'https://example%2ecom/',
    'https://good.com%00.evil.com/',
    'https://*.com/',
    'https://exam!ple.com/',
    'https://good.com;evil.com/',
    'https://good.com,evil.com/',
    'https://-example.com/',
    'ssh://-oProxyCommand=x/',
    'ssh://-oX/',
    'https://xn--/',
    `https://${'a.'.repeat(126)}bc/`,
    // Addresses in unusual forms.
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.0.0.1/',
    'http://0177.0.0.1/',
    'http://127.0.0.01/',
    'http://127.000.000.001/',
    'http://256.0.0.1/',
    'http://1.2.3.4.5/',
    'http://0/',
    'redis://127.1/',
    'redis://0x7f.1/',
    'http://[::1/',
    'http://::1/',
    'http://[::1]x/',
    'http://[::1%25eth0]/',
    'http://[fe80::1%eth0]/',
    'http://[v1.x]/',
    'http://[127.0.0.1]/',
    'http://\u2460\u2461\u2466.0.0.1/',
    // Names that are mapped to others, or by some parsers only.
    'https://\uff45xample.com/',
    'https://example\u3002com/',
    'https://example\uff0ecom/',
    'https://good.com\uff0fevil.com/',
    'https://evil.c\u2100.good.com/',
    'https://\u24d4xample.com/',
    'https://\u212Aelvin.com/',
    'https://example\u017f.com/',
    'https://exa\u00admple.com/',
    'https://exa\u200bmple.com/',
    'https://exa\u200dmple.com/',
    'https://exa\ufe0fmple.com/',
    'https://exa\u034fmple.com/',
    'https://fa\u00df.de/',
    'https://BÜCHER.example/',
    'https://bu\u0308cher.example/',
    'https://\u202eexample.com/',
    // Ports.
    'http://example.com:/',
    'http://example.com:0/',
    'http://example.com:080/',
    'http://example.com:65536/',
    'http://example.com:99999/',
    'http://example.com:-1/',
    'http://example.com:+80/',
    'http://example.com:80:81/',
    'http://example.com:8\u0660/',
    'http://example.com:80x/',
    'http://example.com:%38/',
    'file:// :1/',
    'foo://:1/',
    'foo://:@/x',
    'file://u@/x',
    'file://:1/x',
    'foo://u@/x',
    'foo://',
    // A host with a port is no scheme.
    'example.com:443/',
    'localhost:8080',
    'user:secret@example.com',
    'url:http://example.com/',
  ];
  expect(refused.map(url => [url, ...read(url)])).toEqual(refused.map(url => [url, null, null, null]));
});

const PYTHON = `
import json, sys
from urllib.parse import urlsplit
def read(url):
    try:
        parts = urlsplit(url)
        return [parts.scheme, parts.hostname, parts.port]
    except ValueError:
        return None
print(json.dumps([read(url) for url in json.load(sys.stdin)]))`;

const PIECES = [
  ...[
    'a',
    'b.com',
    'good.com',
    'evil.com',
    '.',
    '-',
    '_',
    '1',
    '127.0.0.1',
    '0x7f',
    '[::1]',
    '[',
    ']',
    'ü',
    'ß',
    '\uff0e',
  ],
  ...[
    '@',
    '@',
    ':',
    ':80',
    ':8080',
    '/',
    '//',
    '\\',
    '?',
    '#',
    '%',
    '%40',
    '%2f',
    ' ',
    '\t',
    '\n',
    ';',
    '&',
    '\u00ad',
  ],
];
const STARTS = [
  'http://',
  'https://',
  'HTTP://',
  'ws://',
  'ftp://',
  'foo://',
  'file://',
  'http:',
  'http:/',
  'http:///',
  '',
];
const SEED = 33;

test.if(need(onPath('python3'), 'python3 (for its parser of URLs)'))(
  'whatever is answered is what Python reads',
  () => {
    const random = seeded(SEED);
    const urls: string[] = [];
    for (let tried = 0; tried < (LONG ? 5_000_000 : 100_000); tried++) {
      const start = STARTS[random(random(STARTS.length) + 1)];
      const url = start + Array.from({ length: 1 + random(6) }, () => PIECES[random(PIECES.length)]).join('');
      if (urlScheme(url) !== null) urls.push(url);
    }
    const python = Bun.spawnSync(['python3', '-c', PYTHON], { stdin: Buffer.from(JSON.stringify(urls)) });
    const theirs = JSON.parse(python.stdout.toString()) as ([string, string | null, number | null] | null)[];
    expect(theirs.length).toBe(urls.length);
    for (const [i, url] of urls.entries()) {
      const [scheme, host, port] = theirs[i] ?? [null, null, null];
      // Python gives names outside ASCII as they are written, and addresses without their brackets.
      const written =
        host === null || host === ''
          ? null
          : new URL(`http://${host.includes(':') ? `[${host}]` : host}/`).hostname;
      const ours = [urlScheme(url), urlHost(url), port === null ? null : urlPort(url)];
      expect([SEED, url, ...ours]).toEqual([SEED, url, scheme, written, port]);
    }
    expect(urls.filter(url => urlHost(url) !== null).length).toBeGreaterThan(5_000);
  },
);
