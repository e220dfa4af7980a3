# The table of a namespace of ddblockd, as `ddblockd --init-table` makes it, and
# a policy for who may use it. See ../README.md.

terraform {
  required_version = ">= 1.3"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

resource "aws_dynamodb_table" "locks" {
  name         = var.table_name
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "key"

  attribute {
    name = "key"
    type = "S"
  }

  ttl {
    attribute_name = "ttl"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = var.point_in_time_recovery
  }

  deletion_protection_enabled = var.deletion_protection
  tags                        = var.tags
}

# The same as ../policy-daemon.json.
data "aws_iam_policy_document" "daemon" {
  statement {
    sid = "Look"
    actions = [
      "dynamodb:DescribeTable",
      "dynamodb:DescribeTimeToLive",
    ]
    resources = [aws_dynamodb_table.locks.arn]
  }

  statement {
    sid = "Lock"
    actions = [
      "dynamodb:GetItem",
      "dynamodb:BatchGetItem",
      "dynamodb:Scan",
      "dynamodb:PutItem",
      "dynamodb:UpdateItem",
    ]
    resources = [aws_dynamodb_table.locks.arn]
  }
}

resource "aws_iam_policy" "daemon" {
  name_prefix = "ddblockd-"
  description = "What ddblockd needs of its table"
  policy      = data.aws_iam_policy_document.daemon.json
  tags        = var.tags
}

data "aws_iam_policy_document" "trust" {
  statement {
    actions = concat(
      ["sts:AssumeRole"],
      var.principal == "pods.eks.amazonaws.com" ? ["sts:TagSession"] : [],
    )
    principals {
      type        = "Service"
      identifiers = [var.principal]
    }
  }
}

resource "aws_iam_role" "daemon" {
  name_prefix        = "ddblockd-"
  description        = "Of hosts that run ddblockd"
  assume_role_policy = data.aws_iam_policy_document.trust.json
  tags               = var.tags
}

resource "aws_iam_role_policy_attachment" "daemon" {
  role       = aws_iam_role.daemon.name
  policy_arn = aws_iam_policy.daemon.arn
}

resource "aws_iam_instance_profile" "daemon" {
  count       = var.principal == "ec2.amazonaws.com" ? 1 : 0
  name_prefix = "ddblockd-"
  role        = aws_iam_role.daemon.name
  tags        = var.tags
}
