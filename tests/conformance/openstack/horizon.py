"""
Horizon of Debian's packages on a free port of loopback, and a headless browser with its pages.
"""

import contextlib
import os
import re

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from block_storage import TooLate, until
from keystone import PASSWORD
from ports import free_port

TIMEOUT_S = 300  # of a machine that has other things to do
STATIC = "/var/lib/openstack-dashboard/static"
POLL_MS = 500  # a page's own, of objects that change
FORM = ".modal.in form"

SETTINGS = """\
from openstack_dashboard.settings import *

ALLOWED_HOSTS = ["127.0.0.1"]
CACHES = {{"default": {{"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}}}
HORIZON_CONFIG["ajax_poll_interval"] = {poll}
OPENSTACK_KEYSTONE_URL = "{keystone}"
"""

# In its log: an answer that a page could not be made of, though the page itself may hide it.
FAULT = re.compile(r"Traceback|Recoverable error|Unable to |ERROR|CRITICAL|Internal Server Error")


class Horizon:
    """One process with several threads, so that its sessions are in its memory."""

    def __init__(self, cloud):
        self.cloud = cloud
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = cloud.path("logs", "horizon.output")

    def start(self):
        directory = self.cloud.path("horizon")
        os.makedirs(directory, exist_ok=True)
        self.cloud.write("horizon/horizon_settings.py", SETTINGS.format(
            keystone=self.cloud.keystone.url, poll=POLL_MS))
        self.cloud.launch(
            "horizon", "uwsgi_python3", "--master", "--no-orphans", "--need-app", "--http-socket",
            self.url[7:], "--threads", "4", "--buffer-size", "32768", "--disable-logging",
            "--static-map", f"/static={STATIC}", "--pythonpath", directory, "--module",
            "django.core.wsgi:get_wsgi_application()", DJANGO_SETTINGS_MODULE="horizon_settings")

    def stop(self):
        process = self.cloud.processes.pop("horizon")
        process.kill()
        process.wait()

    def faults(self, position):
        """Lines of its log behind this position."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            file.seek(position)
            return [line for line in file if FAULT.search(line)]

    def log_size(self):
        return os.stat(self.log).st_size


class Browser:
    """A headless one; it does by script a user's clicks and input, and the pages' own scripts run."""

    def __init__(self, cloud, url):
        self.url = url
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking", "--no-proxy-server",
                     "--window-size=1200,900", "--blink-settings=imagesEnabled=false",
                     f"--user-data-dir={cloud.path('browser')}"):
            options.add_argument(word)
        self.driver = webdriver.Chrome(options=options, service=Service(
            "/usr/bin/chromedriver", log_path=cloud.path("logs", "browser.output"),
            env={**os.environ, "HOME": cloud.place}))
        self.driver.set_page_load_timeout(TIMEOUT_S)
        self.driver.set_script_timeout(TIMEOUT_S)

    def end(self):
        self.driver.quit()

    # ---- pages ----

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def wait(self, what, condition):
        """With the page beside a failure."""
        def holds():
            try:
                return condition()
            except StaleElementReferenceException:
                return None  # replaced meanwhile
        try:
            return until(holds, TIMEOUT_S, what, 0.1)
        except TooLate as error:
            raise AssertionError(f"{error}\n{self.driver.current_url}\n{self.text()}") from None

    def open(self, path):
        self.driver.get(self.url + path)
        self.check()

    def check(self):
        """No message on the page is about a fault."""
        for alert in self.find_all(".alert-danger, .alert-error, .has-error"):
            text = alert.get_attribute("textContent").strip()
            if text:
                raise AssertionError(f"{self.driver.current_url}: {' '.join(text.split())}")

    @contextlib.contextmanager
    def next_page(self, allowed=""):
        """The body leads to another page, or to this one again."""
        self.script("window.former = true")
        yield
        def arrived():
            try:
                return self.script(
                    "return document.readyState == 'complete' && (!window.former ||"
                    " $('.modal .has-error, .modal .alert-danger').length > 0)")
            except WebDriverException:
                return None  # between two pages
        self.wait("another page", arrived)
        self.check()

    def find_all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def find(self, selector):
        return self.wait(selector, lambda: (self.find_all(selector) or [None])[0])

    def text(self, selector="body"):
        """Of the page, its forms included, in one line."""
        return " ".join(self.script(
            "return Array.from(document.querySelectorAll(arguments[0]),"
            " element => element.innerText).join(' ')", selector).split())

    def content(self, selector):
        """Text of an element that may be hidden."""
        return self.find(selector).get_attribute("textContent")

    def click(self, selector):
        """Also in a menu that is not open."""
        self.script("arguments[0].click()", self.find(selector))

    # ---- users ----

    def log_in(self, user):
        self.driver.get(self.url + "/auth/login/")
        self.fill("form", username=user, password=PASSWORD)
        with self.next_page():
            self.click("#loginBtn")

    def log_out(self):
        with self.next_page():
            self.script("location.href = '/auth/logout/'")

    def switch_project(self, project):
        with self.next_page():
            self.script("location.href = arguments[0]", f"/auth/switch/{project}/?next=/project/")

    # ---- forms ----

    def fill(self, form, **fields):
        for name, value in fields.items():
            self.script("""
                const field = $(arguments[0]).last().find(`[name='${arguments[1]}']`);
                if (!field.length) throw Error(`no field ${arguments[1]}`);
                if (field.is(':checkbox')) field.prop('checked', arguments[2]);
                else field.val(arguments[2]);
                field.trigger('input').trigger('change');
                if (!field.is(':checkbox') && String(field.val()) != String(arguments[2]))
                    throw Error(`${arguments[1]} of: ${field.text()}`);
                """, form, name, value)

    def open_form(self, selector):
        """Of a link that opens one above the page."""
        before = len(self.find_all(FORM))
        self.click(selector)
        self.wait(f"a form behind {selector}", lambda: len(self.find_all(FORM)) > before)
        self.check()

    def send(self, **fields):
        """The form above the page."""
        self.fill(FORM, **fields)
        with self.next_page():
            self.script("$(arguments[0]).last().find('[type=submit]').last()[0].click()", FORM)

    def send_for_form(self, **fields):
        """One that is answered by another form: the values of its fields."""
        self.fill(FORM, **fields)
        self.script("""
            const form = $(arguments[0]).last();
            form.find('input').attr('data-former', 1);
            form.find('[type=submit]').last()[0].click()""", FORM)
        self.wait("another form", lambda: self.script(
            "return $(arguments[0]).find('input[type=text]:not([data-former])').length", FORM))
        self.check()
        return self.script(
            "return Object.fromEntries($(arguments[0]).last().serializeArray()"
            ".map(field => [field.name, field.value]))", FORM)

    # ---- tables ----

    def act(self, table, row, action, **fields):
        """By the form of a row's action."""
        self.open_form(f"[id='{table}__row_{row}__action_{action}']")
        self.send(**fields)

    def confirm(self, table, row, action):
        """
        An action that a row does once it is confirmed. The page replaces a row that may change, as of a volume that
        awaits its transfer, every 2.5 s, and an action of a row that was replaced is lost.
        """
        self.wait(action, lambda: self.script("""
            const button = $(`[id='${arguments[0]}__row_${arguments[1]}__action_${arguments[2]}']`);
            if ($.active || !button.length) return false;
            button.closest('tr').removeClass('ajax-update');
            button[0].click();
            return true""", table, row, action))
        button = ".modal.in .modal-footer .btn-danger, .modal.in .modal-footer .btn-primary"
        self.find(button)
        with self.next_page():
            self.script("$(arguments[0]).last()[0].click()", button)

    def row(self, table, row):
        return self.text(f"[id='{table}__row__{row}']")

    def wait_row(self, table, row, *words):
        """The page itself asks for a row that changes."""
        self.wait(f"{words} in row {row}", lambda: all(
            word in self.row(table, row) for word in words))

    def wait_no_row(self, table, row):
        self.wait(f"no row {row}", lambda: not self.find_all(f"[id='{table}__row__{row}']"))

    # ---- metadata ----

    def open_metadata(self, table, row):
        self.click(f"[id='{table}__row_{row}__action_update_metadata']")
        self.find(".modal-content [name=customItem]")

    def save_metadata(self):
        self.click(".modal-content .btn-primary[ng-click='modal.save()']")
        self.wait("the form gone", lambda: not self.find_all(".modal-content"))
        self.check()

    def add_metadata(self, table, row, name, value):
        self.open_metadata(table, row)
        self.find(".modal-content [name=customItem]").send_keys(name)
        self.click(".modal-content [name=customItem] + span button")
        self.find(f".modal-content [title='{name}'] ~ [name=property]").send_keys(value)
        self.save_metadata()

    def remove_metadata(self, table, row, name):
        self.open_metadata(table, row)
        self.click(f".modal-content [title='{name}'] ~ .input-group-btn a")
        self.save_metadata()
