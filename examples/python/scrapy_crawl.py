"""Crawls a site once, also over restarts: scrapy_crawl.py URL FOLDER"""
import sys

import scrapy
from scrapy.crawler import CrawlerProcess


class Spider(scrapy.Spider):
    name = "site"
    start_urls = sys.argv[1:2]

    def parse(self, response):
        yield from response.follow_all(css="a")


process = CrawlerProcess({"DUPEFILTER_CLASS": "mankai.scrapy.DupeFilter", "JOBDIR": sys.argv[2], "LOG_LEVEL": "ERROR",
                          "ROBOTSTXT_OBEY": False, "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7"})
process.crawl(Spider)
process.start()
