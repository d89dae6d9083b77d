"""Uses a bucket with an unmodified client, and checks the result of every step. Argument: the endpoint."""

import hashlib
import os
import sys

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

MIB = 1 << 20
PART = 5 * MIB


def connect(endpoint, secret="plimsoll-secret", **settings):
    config = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}, **settings)
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="eu-nowhere-7",
        aws_access_key_id="plimsoll",
        aws_secret_access_key=secret,
        verify=os.environ.get("CA_FILE"),
        config=config,
    )


def content(size, seed):
    block = hashlib.sha256(str(seed).encode()).digest() * 2048
    return (block * (size // len(block) + 1))[:size]


def fails(code, call, **arguments):
    try:
        call(**arguments)
    except ClientError as error:
        assert error.response["Error"]["Code"] == code, error
        return
    raise AssertionError(f"{code} was expected")


def objects(s3):
    body = content(100_000, 1)
    put = s3.put_object(Bucket="bbb", Key="dir/ä+%20 k", Body=body, ContentType="text/x", Metadata={"colour": "blue"})
    assert put["ETag"] == f'"{hashlib.md5(body).hexdigest()}"', put
    got = s3.get_object(Bucket="bbb", Key="dir/ä+%20 k")
    assert got["Body"].read() == body and got["ContentType"] == "text/x" and got["Metadata"] == {"colour": "blue"}
    head = s3.head_object(Bucket="bbb", Key="dir/ä+%20 k")
    assert head["ContentLength"] == len(body) and head["ETag"] == put["ETag"]
    ranged = s3.get_object(Bucket="bbb", Key="dir/ä+%20 k", Range="bytes=100-199")
    assert ranged["Body"].read() == body[100:200] and ranged["ContentRange"] == "bytes 100-199/100000"
    fails("InvalidRange", s3.get_object, Bucket="bbb", Key="dir/ä+%20 k", Range="bytes=100000-")
    fails("NoSuchKey", s3.get_object, Bucket="bbb", Key="absent")
    fails("NoSuchBucket", s3.get_object, Bucket="absent", Key="k")
    fails("BadDigest", s3.put_object, Bucket="bbb", Key="wrong", Body=b"x", ContentMD5="AAAAAAAAAAAAAAAAAAAAAA==")
    # Before 1.20, boto3 supports no checksum except MD5.
    knows_checksums = "ChecksumCRC32" in s3.meta.service_model.operation_model("PutObject").input_shape.members
    checksum = {"ChecksumCRC32": "y/Q5Jg=="} if knows_checksums else {}
    s3.put_object(Bucket="bbb", Key="sum", Body=b"123456789", **checksum)
    if knows_checksums:
        fails("BadDigest", s3.put_object, Bucket="bbb", Key="sum", Body=b"123456780", **checksum)
    copied = s3.copy_object(Bucket="bbb", Key="copy", CopySource={"Bucket": "bbb", "Key": "sum"})
    assert s3.get_object(Bucket="bbb", Key="copy")["Body"].read() == b"123456789" and copied["CopyObjectResult"]["ETag"]
    empty = s3.put_object(Bucket="bbb", Key="empty", Body=b"")
    assert s3.get_object(Bucket="bbb", Key="empty")["Body"].read() == b"" and empty["ETag"]


def multipart(s3, path):
    body = content(16 * MIB, 2)
    with open(path, "wb") as file:
        file.write(body)
    s3.upload_file(path, "bbb", "large", Config=TransferConfig(multipart_threshold=PART, multipart_chunksize=PART))
    head = s3.head_object(Bucket="bbb", Key="large")
    digests = b"".join(hashlib.md5(body[at : at + PART]).digest() for at in range(0, len(body), PART))
    assert head["ETag"] == f'"{hashlib.md5(digests).hexdigest()}-4"', head
    assert s3.get_object(Bucket="bbb", Key="large")["Body"].read() == body
    around = s3.get_object(Bucket="bbb", Key="large", Range=f"bytes={PART - 10}-{PART + 9}")
    assert around["Body"].read() == body[PART - 10 : PART + 10]
    s3.download_file("bbb", "large", path + ".back", Config=TransferConfig(multipart_threshold=PART))
    with open(path + ".back", "rb") as file:
        assert file.read() == body

    upload = s3.create_multipart_upload(Bucket="bbb", Key="given-up")["UploadId"]
    named = {"Bucket": "bbb", "Key": "given-up", "UploadId": upload}
    for number in (1, 2):
        s3.upload_part(PartNumber=number, Body=content(100, number), **named)
    parts = s3.list_parts(MaxParts=1, **named)
    assert [part["Size"] for part in parts["Parts"]] == [100] and parts["IsTruncated"], parts
    assert [u["Key"] for u in s3.list_multipart_uploads(Bucket="bbb")["Uploads"]] == ["given-up"]
    fails("InvalidPart", s3.complete_multipart_upload, MultipartUpload={"Parts": [{"PartNumber": 3, "ETag": "x"}]}, **named)
    s3.abort_multipart_upload(**named)
    fails("NoSuchUpload", s3.list_parts, **named)


def lists(s3):
    s3.create_bucket(Bucket="many")
    names = sorted(f"{folder}/{number:03}" for folder in ("a", "b&c", "d e") for number in range(7))
    for name in names:
        s3.put_object(Bucket="many", Key=name, Body=name.encode())
    for call in ("list_objects", "list_objects_v2"):
        paginate = s3.get_paginator(call).paginate
        pages = list(paginate(Bucket="many", PaginationConfig={"PageSize": 4}))
        assert len(pages) == 6, len(pages)
        assert [entry["Key"] for page in pages for entry in page["Contents"]] == names
        folders = [
            entry["Prefix"]
            for page in paginate(Bucket="many", Delimiter="/", PaginationConfig={"PageSize": 2})
            for entry in page["CommonPrefixes"]
        ]
        assert folders == ["a/", "b&c/", "d e/"], folders
    below = s3.list_objects_v2(Bucket="many", Prefix="b&c/", Delimiter="/", StartAfter="b&c/004")
    assert [entry["Key"] for entry in below["Contents"]] == ["b&c/005", "b&c/006"], below
    assert sorted(bucket["Name"] for bucket in s3.list_buckets()["Buckets"]) == ["bbb", "many"]
    assert s3.get_bucket_location(Bucket="many")["ResponseMetadata"]["HTTPStatusCode"] == 200
    fails("BucketNotEmpty", s3.delete_bucket, Bucket="many")
    s3.delete_object(Bucket="many", Key=names[0])
    batch = s3.delete_objects(Bucket="many", Delete={"Objects": [{"Key": name} for name in names]})
    assert len(batch["Deleted"]) == len(names) and "Errors" not in batch, batch
    assert s3.list_objects_v2(Bucket="many")["KeyCount"] == 0
    s3.delete_bucket(Bucket="many")
    fails("404", s3.head_bucket, Bucket="many")


def main():
    endpoint = sys.argv[1]
    s3 = connect(endpoint)
    fails("SignatureDoesNotMatch", connect(endpoint, "another").list_buckets)
    s3.create_bucket(Bucket="bbb")
    s3.head_bucket(Bucket="bbb")
    objects(s3)
    multipart(s3, sys.argv[2])
    lists(s3)
    print("all steps done")


main()
