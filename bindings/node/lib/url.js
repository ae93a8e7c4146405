'use strict';
// URLs in the one form that all their spellings share.

const { arrayOfKeys, choice, core, withDefaults } = require('./common.js');

const RULES = { default: 0, 'safe browsing': 1, keys: 2 };
const HOSTS = { exact: 0, 'safe browsing v4': 1, 'safe browsing v5': 2, all: 3 };
const PATHS = { 'safe browsing': 0, all: 1 };

/** A canonical URL and its parts. */
class Url {
  constructor([text, schemeEnd, hostBegin, hostEnd, authorityEnd, pathEnd, isIp]) {
    this.text = text;
    this.scheme = text.slice(0, schemeEnd);
    this.host = text.slice(hostBegin, hostEnd);
    this.authority = text.slice(hostBegin, authorityEnd);
    this.path = text.slice(authorityEnd, pathEnd);
    this.query = text.slice(pathEnd);
    this.isIp = isIp;
  }
  get registrableDomain() {
    return this.isIp ? '' : registrableDomain(this.host);
  }
  toString() {
    return this.text;
  }
}

const rulesOf = (options) => choice('rules', withDefaults(options, { rules: 'default' }).rules, RULES);

function canonical(raw, options) {
  return core.urlCanonical(raw, rulesOf(options))[0];
}

function canonicalMany(urls, options) {
  const rules = rulesOf(options);
  return core.urlCanonicalMany(arrayOfKeys(urls), rules)
    .map((text) => (text === '' ? null : text));
}

function parse(raw, options) {
  return new Url(core.urlCanonical(raw, rulesOf(options)));
}

function registrableDomain(host) {
  if (typeof host !== 'string') throw new TypeError('a canonical host is a string');
  return Buffer.from(host).subarray(core.urlRegistrableDomain(host)).toString();
}

function ladderOf(raw, options, ladders, ladder, ofPaths) {
  const o = withDefaults(options, { rules: 'safe browsing', ladder });
  return core.urlLadder(raw, choice('rules', o.rules, RULES), choice('ladder', o.ladder, ladders), ofPaths);
}

function hosts(raw, options) {
  return ladderOf(raw, options, HOSTS, 'safe browsing v5', false);
}

function paths(raw, options) {
  return ladderOf(raw, options, PATHS, 'safe browsing', true);
}

module.exports = Object.freeze({
  VERSION: core.urlVersion(), canonical, canonicalMany, hosts, parse, paths, registrableDomain,
});
