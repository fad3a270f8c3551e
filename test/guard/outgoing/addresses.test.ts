// Where the service may send, spelt in the many ways an address can be spelt.

import { describe, expect, test } from 'bun:test';
import { GuardError } from '../../../src/core/errors.ts';
import { checkTarget, type Resolve, urlFault } from '../../../src/guard/outgoing/addresses.ts';

/** public: always allowed; private: only where private targets are; never: in no case. */
type Rule = 'public' | 'private' | 'never';

const SPELLINGS: [string, Rule, string?][] = [
  ['http://8.8.8.8/', 'public', '8.8.8.8'],
  ['https://1.1.1.1:8443/hook?x=1', 'public', '1.1.1.1'],
  ['http://134744072/', 'public', '8.8.8.8'],
  ['http://[2606:4700:4700::1111]/', 'public', '2606:4700:4700::1111'],
  ['http://[::ffff:8.8.8.8]/', 'public', '8.8.8.8'],
  ['http://[64:ff9b::8.8.8.8]/', 'public', '64:ff9b::808:808'],
  ['http://[2002:808:808::1]/', 'public', '2002:808:808::1'],

  ['http://127.0.0.1/', 'private', '127.0.0.1'],
  ['http://127.255.255.254/', 'private', '127.255.255.254'],
  ['http://2130706433/', 'private', '127.0.0.1'],
  ['http://0x7f000001/', 'private', '127.0.0.1'],
  ['http://0x7f.0x0.0x0.0x1/', 'private', '127.0.0.1'],
  ['http://017700000001/', 'private', '127.0.0.1'],
  ['http://0177.0.0.01/', 'private', '127.0.0.1'],
  ['http://127.1/', 'private', '127.0.0.1'],
  ['http://127.0.1/', 'private', '127.0.0.1'],
  ['http://127.0.0.1./', 'private', '127.0.0.1'],
  ['http://%31%32%37.0.0.1/', 'private', '127.0.0.1'],
  ['http://１２７.０.０.１/', 'private', '127.0.0.1'],
  ['http://127。0。0。1/', 'private', '127.0.0.1'],
  ['http://[::1]/', 'private', '::1'],
  ['http://[0:0:0:0:0:0:0:1]/', 'private', '::1'],
  ['http://[::ffff:127.0.0.1]/', 'private', '127.0.0.1'],
  ['http://[::ffff:7f00:1]/', 'private', '127.0.0.1'],
  ['http://[::127.0.0.1]/', 'private', '::7f00:1'],
  ['http://[::ffff:0:127.0.0.1]/', 'private', '::ffff:0:7f00:1'],
  ['http://[64:ff9b::127.0.0.1]/', 'private', '64:ff9b::7f00:1'],
  ['http://[2002:7f00:1::]/', 'private', '2002:7f00:1::'],
  ['http://[2001:0:808:808::80ff:fffe]/', 'private', '2001:0:808:808::80ff:fffe'],
  ['http://localhost/', 'private', '127.0.0.1'],
  ['http://LOCALHOST./', 'private', '127.0.0.1'],
  ['http://api.localhost:3000/', 'private', '127.0.0.1'],
  ['http://10.0.0.1/', 'private', '10.0.0.1'],
  ['http://012.1/', 'private', '10.0.0.1'],
  ['http://172.16.0.1/', 'private', '172.16.0.1'],
  ['http://172.31.255.255/', 'private', '172.31.255.255'],
  ['http://192.168.1.1/', 'private', '192.168.1.1'],
  ['http://[::ffff:192.168.1.1]/', 'private', '192.168.1.1'],
  ['http://100.64.0.1/', 'private', '100.64.0.1'],
  ['http://[fd12:3456::1]/', 'private', 'fd12:3456::1'],
  ['http://[fc00::1]/', 'private', 'fc00::1'],

  ['http://169.254.169.254/latest/meta-data/', 'never'],
  ['http://2852039166/', 'never'],
  ['http://0xa9fea9fe/', 'never'],
  ['http://0251.0376.0251.0376/', 'never'],
  ['http://169.254.43518/', 'never'],
  ['http://[::ffff:169.254.169.254]/', 'never'],
  ['http://[::a9fe:a9fe]/', 'never'],
  ['http://[64:ff9b::a9fe:a9fe]/', 'never'],
  ['http://[64:ff9b:1::a9fe:a9fe]/', 'never'],
  ['http://[2002:a9fe:a9fe::]/', 'never'],
  ['http://[2001:0:a9fe:a9fe::1]/', 'never'],
  ['http://[2001:0:808:808::5601:5601]/', 'never'],
  ['http://169.254.0.1/', 'never'],
  ['http://[fe80::1]/', 'never'],
  ['http://[febf::1]/', 'never'],
  ['http://[fec0::1]/', 'never'],
  ['http://[fd00:ec2::254]/', 'never'],
  ['http://[fd00:0ec2:0:0:0:0:0:0254]/', 'never'],
  ['http://[fd20:ce::254]/', 'never'],
  ['http://100.100.100.200/', 'never'],
  ['http://168.63.129.16/', 'never'],
  ['http://192.0.0.192/', 'never'],
  ['http://metadata.google.internal/', 'never'],
  ['http://METADATA.google.internal./computeMetadata/v1/', 'never'],
  ['http://metadata/', 'never'],
  ['http://instance-data/', 'never'],
  ['http://0.0.0.0/', 'never'],
  ['http://0/', 'never'],
  ['http://0.1.2.3/', 'never'],
  ['http://[::]/', 'never'],
  ['http://[::ffff:0.0.0.0]/', 'never'],
  ['http://[::2]/', 'never'],
  ['http://224.0.0.1/', 'never'],
  ['http://239.255.255.250/', 'never'],
  ['http://[ff02::1]/', 'never'],
  ['http://255.255.255.255/', 'never'],
  ['http://240.0.0.1/', 'never'],
  ['http://192.0.2.1/', 'never'],
  ['http://198.18.0.1/', 'never'],
  ['http://203.0.113.9/', 'never'],
  ['http://[2001:db8::1]/', 'never'],
  ['http://[3fff::1]/', 'never'],
  ['http://[100::1]/', 'never'],
  ['http://[4000::1]/', 'never'],
];

const noResolver: Resolve = host => Promise.reject(new Error(`${host} must not be looked up`));
const answering =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses.map(address => ({ address }));

async function outcome(url: string, allowPrivate: boolean, resolve: Resolve = noResolver): Promise<string> {
  try {
    return (await checkTarget(url, { allowPrivate }, resolve)).address;
  } catch (error) {
    expect(error).toBeInstanceOf(GuardError);
    expect((error as GuardError).code).toBe('invalid_input');
    return 'refused';
  }
}

describe('literal addresses and reserved names', () => {
  for (const [url, rule, address] of SPELLINGS) {
    test(`${url} is ${rule}`, async () => {
      expect(await outcome(url, false)).toBe(rule === 'public' ? address! : 'refused');
      expect(await outcome(url, true)).toBe(rule === 'never' ? 'refused' : address!);
    });
  }

  test('the same addresses are treated alike when a name resolves to them', async () => {
    for (const [url, rule, address] of SPELLINGS) {
      const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
      if (!/^[\d.]+$|:/.test(host)) continue;
      const resolve = answering(host);
      expect([url, await outcome('http://hooks.example/', true, resolve)]).toEqual([
        url,
        rule === 'never' ? 'refused' : address!,
      ]);
      expect([url, await outcome('http://hooks.example/', false, resolve)]).toEqual([
        url,
        rule === 'public' ? address! : 'refused',
      ]);
    }
  });

  test('a link-local answer with a zone, and one that is no address, are refused', async () => {
    expect(await outcome('http://hooks.example/', true, answering('fe80::1%eth0'))).toBe('refused');
    expect(await outcome('http://hooks.example/', true, answering('nonsense'))).toBe('refused');
  });
});

test('names of metadata services are refused wherever they lead', async () => {
  for (const host of ['metadata.google.internal', 'instance-data', 'v1.metadata.google.internal']) {
    expect(await outcome(`http://${host}/`, true, answering('8.8.8.8'))).toBe('refused');
  }
  expect(await outcome('http://metadata.example/', false, answering('8.8.8.8'))).toBe('8.8.8.8');
});

describe('resolved names', () => {
  const url = 'https://hooks.example/in?x=1';

  test('one bad address among several refuses the target', async () => {
    expect(await outcome(url, false, answering('8.8.8.8', '1.1.1.1'))).toBe('8.8.8.8');
    expect(await outcome(url, false, answering('8.8.8.8', '10.0.0.1'))).toBe('refused');
    expect(await outcome(url, false, answering('10.0.0.1', '8.8.8.8'))).toBe('refused');
    expect(await outcome(url, true, answering('8.8.8.8', '10.0.0.1', '169.254.169.254'))).toBe('refused');
  });

  test('all checked addresses are named, IPv4 first', async () => {
    const target = await checkTarget(url, { allowPrivate: false }, answering('2606:4700::1', '8.8.8.8'));
    expect(target.addresses).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ]);
    expect([target.address, target.family, target.url.href]).toEqual(['8.8.8.8', 4, url]);
  });

  test('a name that is rebound later does not change what was checked', async () => {
    const answers = ['8.8.8.8', '10.0.0.1'];
    const rebinding: Resolve = async () => [{ address: answers.shift()! }];
    const target = await checkTarget(url, { allowPrivate: false }, rebinding);
    expect(target.addresses).toEqual([{ address: '8.8.8.8', family: 4 }]);
    expect(await outcome(url, false, rebinding)).toBe('refused');
  });

  test('a name without addresses, or one that cannot be looked up, is refused', async () => {
    expect(await outcome(url, true, answering())).toBe('refused');
    expect(await outcome(url, true, () => Promise.reject(new Error('ENOTFOUND')))).toBe('refused');
  });

  test('the system resolver serves by default', async () => {
    await expect(checkTarget('http://no-such-host.invalid/', { allowPrivate: true })).rejects.toThrow(
      'The host name could not be resolved.',
    );
  });

  test('the refusal says what was found and what to do', async () => {
    const refusal = checkTarget(url, { allowPrivate: false }, answering('10.1.2.3'));
    await expect(refusal).rejects.toThrow(
      'hooks.example stands for 10.1.2.3, a private address; to allow it set TOOLGATE_ALLOW_PRIVATE_NETWORKS=true.',
    );
    await expect(checkTarget('http://169.254.169.254/?secret', { allowPrivate: true })).rejects.toThrow(
      /^169\.254\.169\.254 is a link-local address, which is never allowed\.$/,
    );
  });
});

describe('the form of a URL', () => {
  const WRONG: [string, RegExp][] = [
    ['', /http/],
    ['hooks.example', /http/],
    ['//hooks.example/', /http/],
    ['http:hooks.example', /http/],
    ['http://', /http/],
    ['http://[::1', /http/],
    ['http://[fe80::1%25eth0]/', /http/],
    ['http://1.2.3.4.5/', /http/],
    ['http://256.1.1.1/', /http/],
    ['ftp://hooks.example/', /http/],
    ['file:///etc/passwd', /http/],
    ['gopher://127.0.0.1:6379/_x', /http/],
    ['javascript:alert(1)', /http/],
    ['data:text/plain,x', /http/],
    ['http://user:password@hooks.example/', /password/],
    ['http://user@hooks.example/', /password/],
    ['http://:password@hooks.example/', /password/],
    ['http://8.8.8.8@10.0.0.1/', /password/],
    ['http://hooks.example:0/', /port/],
    [' http://hooks.example/', /spaces/],
    ['http://hooks.\nexample/', /spaces/],
    ['http://hooks.example/a b', /spaces/],
    ['http://hooks.example/\u0000', /spaces/],
    [`http://hooks.example/${'x'.repeat(2048)}`, /2048/],
  ];

  for (const [url, fault] of WRONG) {
    test(`${JSON.stringify(url.slice(0, 60))} is refused before any look-up`, async () => {
      expect(urlFault(url)).toMatch(fault);
      expect(await outcome(url, true)).toBe('refused');
    });
  }

  test('ordinary addresses pass, up to the longest', () => {
    const longest = 'https://hooks.example/'.padEnd(2048, 'x');
    expect([urlFault(longest), urlFault(`${longest}x`)]).toEqual([null, expect.stringContaining('2048')]);
    for (const url of ['https://hooks.example/in?x=1#y', 'HTTP://Hooks.Example:8080', 'http://[::1]:3000/']) {
      expect(urlFault(url)).toBeNull();
    }
  });
});
