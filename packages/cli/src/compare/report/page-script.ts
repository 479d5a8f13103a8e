/**
 * The script of the page, for any browser of the last years: no modules, no other files. The filter is in the
 * fragment (`#text=web&aspect=ttl&kind=pod&over=tcp`), so that a filtered list is a link.
 */
export const PAGE_SCRIPT = `
'use strict';
(function () {
  var PAGE = 200;
  var all = JSON.parse(document.getElementById('data').textContent);
  var fields = ['text', 'aspect', 'kind', 'over'].map(function (id) {
    return document.getElementById(id);
  });
  var list = document.getElementById('list');
  var more = document.getElementById('more');
  var found = [];
  var drawn = 0;
  all.forEach(function (one) {
    one.search = [one.name, one.type].concat(one.left, one.right).join(' ').toLowerCase();
  });
  function element(name, text, parent) {
    var made = document.createElement(name);
    made.textContent = text;
    parent.appendChild(made);
    return made;
  }
  function pair(left, right, parent) {
    var box = element('div', '', parent);
    box.className = 'pair';
    element('pre', left.join('\\n') || '-', box);
    element('pre', right.join('\\n') || '-', box);
  }
  function draw() {
    found.slice(drawn, drawn + PAGE).forEach(function (one) {
      var article = element('article', '', list);
      element('h3', one.name + ' ' + one.type, article);
      element('small', one.kind + ', over ' + one.over.join(', '), article);
      one.findings.forEach(function (finding) {
        element('div', finding.aspect, article);
        pair(finding.left, finding.right, article);
      });
      var details = element('details', '', article);
      element('summary', 'whole replies', details);
      pair(one.left, one.right, details);
    });
    drawn = Math.min(drawn + PAGE, found.length);
    more.hidden = drawn === found.length;
  }
  function filter() {
    var values = fields.map(function (field) { return field.value; });
    var words = values[0].toLowerCase().split(/\\s+/);
    found = all.filter(function (one) {
      return words.every(function (word) { return one.search.indexOf(word) >= 0; }) &&
        (!values[1] || one.findings.some(function (finding) { return finding.aspect === values[1]; })) &&
        (!values[2] || one.kind === values[2]) &&
        (!values[3] || one.over.indexOf(values[3]) >= 0);
    });
    list.textContent = '';
    drawn = 0;
    draw();
    document.getElementById('shown').textContent = found.length + ' of ' + all.length + ' differences';
  }
  function readFragment() {
    var wanted = new URLSearchParams(location.hash.slice(1));
    fields.forEach(function (field) { field.value = wanted.get(field.id) || ''; });
    filter();
  }
  function writeFragment() {
    var wanted = new URLSearchParams();
    fields.forEach(function (field) { if (field.value) wanted.set(field.id, field.value); });
    history.replaceState(null, '', '#' + wanted.toString());
    filter();
  }
  document.getElementById('filters').addEventListener('input', writeFragment);
  document.getElementById('filters').addEventListener('submit', function (event) { event.preventDefault(); });
  window.addEventListener('hashchange', readFragment);
  more.addEventListener('click', draw);
  readFragment();
})();
`;
