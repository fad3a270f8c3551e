// The vectors are those of the W3C's own test suite for Trace Context (test/test.py of w3c/trace-context), as far as they
// are about reading.

import { describe, expect, test } from 'bun:test';
import { readTraceParent, readTraceState } from '../../../src/core/wire/trace-context.ts';

const TRACE = '12345678901234567890123456789012';
const SPAN = '1234567890123456';
const parse = (header: string | null, state: string | null = null) => readTraceParent(header, () => state);

describe('traceparent', () => {
  test.each([
    ['a sampled one', `00-${TRACE}-${SPAN}-01`, true],
    ['one that is not sampled', `00-${TRACE}-${SPAN}-00`, false],
    ['other flags, which are ignored', `00-${TRACE}-${SPAN}-fe`, false],
    ['all flags', `00-${TRACE}-${SPAN}-ff`, true],
    ['a version of the future', `cc-${TRACE}-${SPAN}-01`, true],
    ['a version of the future with more', `cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`, true],
  ])('takes %s', (_, header, sampled) => {
    expect(parse(header)).toEqual({ traceId: TRACE, spanId: SPAN, sampled, state: '' });
  });

  test.each([
    ['nothing', null],
    ['an empty header', ''],
    ['more than version 00 has', `00-${TRACE}-${SPAN}-01-what-the-future-will-be-like`],
    ['a full stop at its end', `00-${TRACE}-${SPAN}-01.`],
    ['a future version that goes on without a hyphen', `cc-${TRACE}-${SPAN}-01.what`],
    ['a line break', `cc-${TRACE}-${SPAN}-01-\nmore`],
    ['the version ff', `ff-${TRACE}-${SPAN}-01`],
    ['an illegal version', `.0-${TRACE}-${SPAN}-01`],
    ['another illegal version', `0.-${TRACE}-${SPAN}-01`],
    ['a version in upper case', `CC-${TRACE}-${SPAN}-01`],
    ['a long version', `000-${TRACE}-${SPAN}-01`],
    ['a short version', `0-${TRACE}-${SPAN}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['an illegal trace id', `00-.${TRACE.slice(1)}-${SPAN}-01`],
    ['a trace id in upper case', `00-${'A'.repeat(32)}-${SPAN}-01`],
    ['a long trace id', `00-${TRACE}3-${SPAN}-01`],
    ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['an illegal span id', `00-${TRACE}-.${SPAN.slice(1)}-01`],
    ['a span id in upper case', `00-${TRACE}-${'F'.repeat(16)}-01`],
    ['a long span id', `00-${TRACE}-${SPAN}7-01`],
    ['a short span id', `00-${TRACE}-${SPAN.slice(1)}-01`],
    ['illegal flags', `00-${TRACE}-${SPAN}-.0`],
    ['other illegal flags', `00-${TRACE}-${SPAN}-0.`],
    ['long flags', `00-${TRACE}-${SPAN}-001`],
    ['short flags', `00-${TRACE}-${SPAN}-1`],
    ['two headers in one', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['something very long', `cc-${TRACE}-${SPAN}-01-${'x'.repeat(500)}`],
  ])('does not take %s', (_, header) => {
    const read: string[] = [];
    const state = () => {
      read.push('tracestate');
      return 'foo=1';
    };
    expect(readTraceParent(header, state)).toBeNull();
    expect(read).toEqual([]);
  });

  test('comes with its state', () => {
    expect(parse(`00-${TRACE}-${SPAN}-01`, 'foo=1 , bar=2')?.state).toBe('foo=1,bar=2');
  });
});

const many = (count: number) => Array.from({ length: count }, (_, at) => `bar${at}=${at}`).join(',');
const printable =
  '!"#$%&\'()*+-./0123456789:;<>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~';

describe('tracestate', () => {
  // The time limit is the test: each of them took a second or two while a regular expression took the blanks away.
  test('with thousands of blanks within a member takes no time', () => {
    for (let count = 0; count < 30; count++) expect(readTraceState(`a=${' '.repeat(32_000)}b`)).toBe('');
  }, 10_000);

  test.each([
    ['', ''],
    ['foo=1', 'foo=1'],
    ['foo=1,', 'foo=1'],
    ['foo=1 \t , \t bar=2, \t baz=3', 'foo=1,bar=2,baz=3'],
    ['foo=1\t \t,\t \tbar=2,\t \tbaz=3', 'foo=1,bar=2,baz=3'],
    ['abcdefghijklmnopqrstuvwxyz0123456789_-*/=1', 'abcdefghijklmnopqrstuvwxyz0123456789_-*/=1'],
    ['fw529a3039@dt=FfsqA', 'fw529a3039@dt=FfsqA'],
    ['0tenant@v=1', '0tenant@v=1'],
    ['foo=a b', 'foo=a b'],
    [`foo=${printable}`, `foo=${printable}`],
    [many(32), many(32)],
    [`${'z'.repeat(256)}=1`, `${'z'.repeat(256)}=1`],
    [`${'t'.repeat(241)}@${'v'.repeat(14)}=1`, `${'t'.repeat(241)}@${'v'.repeat(14)}=1`],
    [`foo=${'x'.repeat(256)}`, `foo=${'x'.repeat(256)}`],
  ])('takes %#', (header, state) => {
    expect(readTraceState(header)).toBe(state);
  });

  test.each([
    'foo',
    '=1',
    'foo =1',
    'FOO=1',
    'foo.bar=1',
    'foo@=1,bar=2',
    '@foo=1,bar=2',
    'foo@@bar=1,bar=2',
    'foo@bar@baz=1,bar=2',
    '0foo=1',
    `${'z'.repeat(257)}=1`,
    `${'t'.repeat(242)}@v=1`,
    `t@${'v'.repeat(15)}=1`,
    'foo=bar=baz',
    'foo=,bar=3',
    `foo=${'x'.repeat(257)}`,
    'foo=ö',
    'foo=a\nb',
    'foo=1,foo=2',
    many(33),
    `foo=1,${' '.repeat(40_000)}`,
  ])('does not take %#', header => {
    expect(readTraceState(header)).toBe('');
  });

  test('is shortened by whole members, long ones first', () => {
    const long = `long=${'x'.repeat(200)}`;
    const members = Array.from({ length: 6 }, (_, at) => `m${at}=${'y'.repeat(97)}`);
    expect(readTraceState([members[0], long, ...members.slice(1)].join(','))).toBe(
      members.slice(0, 5).join(','),
    );
  });
});
